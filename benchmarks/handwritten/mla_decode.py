"""Decoding with latent attention by hand: one key for all heads, shared out to programs."""

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

from benchmarks.handwritten.gqa_decode import whole_kernel

LOG2_E = 1.4426950408889634
# How many programs share the keys depends on the number of sequences: see the workload.
TILES = tuple(
    {"BLOCK_H": block_h, "BLOCK_N": block_n, "num_warps": warps, "num_stages": stages}
    for block_h, block_n, warps, stages in (
        (64, 64, 8, 2),
        (64, 32, 8, 2),
        (64, 32, 8, 3),
        (64, 64, 8, 1),
    )
)


@triton.jit
def part_kernel(
    q_desc,
    q_rope_desc,
    kv_desc,
    k_rope_desc,
    parts_ptr,
    sums_ptr,
    heads,
    kv_len,
    scale,
    DIM: tl.constexpr,
    ROPE: tl.constexpr,
    SPLITS: tl.constexpr,
    BLOCK_H: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    head = tl.program_id(0) * BLOCK_H
    part = tl.program_id(1)
    batch = tl.program_id(2)
    rows = head + tl.arange(0, BLOCK_H)
    q = q_desc.load([batch, head, 0]).reshape(BLOCK_H, DIM)
    q_rope = q_rope_desc.load([batch, head, 0]).reshape(BLOCK_H, ROPE)
    row_max = tl.full((BLOCK_H,), -1e30, tl.float32)
    row_sum = tl.zeros((BLOCK_H,), tl.float32)
    acc = tl.zeros((BLOCK_H, DIM), tl.float32)
    blocks = tl.cdiv(kv_len, BLOCK_N)
    for block in range(part * blocks // SPLITS, (part + 1) * blocks // SPLITS):
        kv = kv_desc.load([batch, block * BLOCK_N, 0]).reshape(BLOCK_N, DIM)
        k_rope = k_rope_desc.load([batch, block * BLOCK_N, 0]).reshape(BLOCK_N, ROPE)
        scores = tl.dot(q_rope, k_rope.T, tl.dot(q, kv.T)) * scale
        seen = block * BLOCK_N + tl.arange(0, BLOCK_N) < kv_len
        scores = tl.where(seen[None, :], scores, float("-inf"))
        new_max = tl.maximum(row_max, tl.max(scores, 1))
        rescale = tl.exp2(row_max - new_max)
        weights = tl.exp2(scores - new_max[:, None])
        acc = tl.dot(weights.to(kv.dtype), kv, acc * rescale[:, None])
        row_sum = row_sum * rescale + tl.sum(weights, 1)
        row_max = new_max
    row_sum = tl.maximum(row_sum, 1e-30)
    out = (batch.to(tl.int64) * heads + rows) * SPLITS + part
    inside = rows < heads
    places = out[:, None] * DIM + tl.arange(0, DIM)[None, :]
    tl.store(parts_ptr + places, acc / row_sum[:, None], mask=inside[:, None])
    tl.store(sums_ptr + out, row_max + tl.log2(row_sum), mask=inside)


def mla_decode(
    q: Tensor,
    q_rope: Tensor,
    kv: Tensor,
    k_rope: Tensor,
    SPLITS: int,
    BLOCK_H: int,
    BLOCK_N: int,
    **options: int,
) -> Tensor:
    """SPLITS and the dims are powers of two."""
    batch, heads, dim = q.shape
    rope = q_rope.shape[2]
    kv_len = kv.shape[1]
    o = torch.empty_like(q)
    parts = q.new_empty((batch, heads, SPLITS, dim), dtype=torch.float32)
    sums = q.new_empty((batch, heads, SPLITS), dtype=torch.float32)
    part_kernel[(triton.cdiv(heads, BLOCK_H), SPLITS, batch)](
        TensorDescriptor.from_tensor(q, [1, BLOCK_H, dim]),
        TensorDescriptor.from_tensor(q_rope, [1, BLOCK_H, rope]),
        TensorDescriptor.from_tensor(kv, [1, BLOCK_N, dim]),
        TensorDescriptor.from_tensor(k_rope, [1, BLOCK_N, rope]),
        parts,
        sums,
        heads,
        kv_len,
        (dim + rope) ** -0.5 * LOG2_E,
        DIM=dim,
        ROPE=rope,
        SPLITS=SPLITS,
        BLOCK_H=BLOCK_H,
        BLOCK_N=BLOCK_N,
        **options,
    )
    whole_kernel[(batch * heads,)](parts, sums, o, DIM=dim, SPLITS=SPLITS, num_warps=4)
    return o
