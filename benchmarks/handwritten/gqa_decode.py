"""Decoding with grouped queries by hand: split keys, then a kernel that puts the parts together."""

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

LOG2_E = 1.4426950408889634
CONFIGS = tuple(
    {"SPLITS": splits, "BLOCK_N": block, "num_warps": warps, "num_stages": stages}
    for splits, block, warps, stages in (
        (2, 64, 4, 3),
        (4, 64, 4, 3),
        (8, 64, 4, 2),
        (8, 64, 4, 3),
        (8, 128, 4, 3),
        (16, 64, 4, 3),
        (16, 128, 4, 2),
        (32, 64, 4, 3),
        (64, 64, 4, 3),
    )
)


@triton.jit
def part_kernel(
    q_ptr,
    k,
    v,
    parts_ptr,
    sums_ptr,
    kv_len,
    kv_heads,
    scale,
    GROUP: tl.constexpr,
    DIM: tl.constexpr,
    SPLITS: tl.constexpr,
    BLOCK_H: tl.constexpr,
    BLOCK_N: tl.constexpr,
    TMA: tl.constexpr,
):
    """`k` and `v` are pointers or descriptors."""
    part = tl.program_id(0)
    head = tl.program_id(1)
    batch = tl.program_id(2)
    rows = tl.arange(0, BLOCK_H)
    columns = tl.arange(0, DIM)
    q_row = (batch.to(tl.int64) * kv_heads + head) * GROUP + rows
    inside = rows < GROUP
    q = tl.load(q_ptr + q_row[:, None] * DIM + columns, mask=inside[:, None], other=0.0)
    blocks = tl.cdiv(kv_len, BLOCK_N)
    row_max = tl.full((BLOCK_H,), -1e30, tl.float32)
    row_sum = tl.zeros((BLOCK_H,), tl.float32)
    acc = tl.zeros((BLOCK_H, DIM), tl.float32)
    base = batch.to(tl.int64) * kv_len * kv_heads + head
    for block in range(part * blocks // SPLITS, (part + 1) * blocks // SPLITS):
        tokens = block * BLOCK_N + tl.arange(0, BLOCK_N)
        seen = tokens < kv_len
        places = (base + tokens[:, None] * kv_heads) * DIM + columns
        if TMA:
            keys = k.load([batch, block * BLOCK_N, head, 0]).reshape(BLOCK_N, DIM)
        else:
            keys = tl.load(k + places, mask=seen[:, None], other=0.0)
        scores = tl.where(seen[None, :], tl.dot(q, keys.T) * scale, float("-inf"))
        new_max = tl.maximum(row_max, tl.max(scores, 1))
        rescale = tl.exp2(row_max - new_max)
        weights = tl.exp2(scores - new_max[:, None])
        if TMA:
            values = v.load([batch, block * BLOCK_N, head, 0]).reshape(BLOCK_N, DIM)
        else:
            values = tl.load(v + places, mask=seen[:, None], other=0.0)
        acc = tl.dot(weights.to(values.dtype), values, acc * rescale[:, None])
        row_sum = row_sum * rescale + tl.sum(weights, 1)
        row_max = new_max
    row_sum = tl.maximum(row_sum, 1e-30)
    out = q_row * SPLITS + part
    tl.store(parts_ptr + out[:, None] * DIM + columns, acc / row_sum[:, None], mask=inside[:, None])
    tl.store(sums_ptr + out, row_max + tl.log2(row_sum), mask=inside)


@triton.jit
def whole_kernel(parts_ptr, sums_ptr, o_ptr, DIM: tl.constexpr, SPLITS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    splits = tl.arange(0, SPLITS)
    columns = tl.arange(0, DIM)
    sums = tl.load(sums_ptr + row * SPLITS + splits)
    weights = tl.exp2(sums - tl.max(sums, 0))
    parts = tl.load(parts_ptr + (row * SPLITS + splits[:, None]) * DIM + columns)
    o = tl.sum(parts * weights[:, None], 0) / tl.sum(weights, 0)
    tl.store(o_ptr + row * DIM + columns, o.to(o_ptr.dtype.element_ty))


def gqa_decode(
    q: Tensor, k: Tensor, v: Tensor, SPLITS: int, BLOCK_N: int, TMA: bool, **options: int
) -> Tensor:
    """SPLITS and `dim` are powers of two. With TMA loads cost less, and a launch more."""
    batch, heads, dim = q.shape
    kv_len, kv_heads = k.shape[1:3]
    group = heads // kv_heads
    o = torch.empty_like(q)
    parts = q.new_empty((batch, heads, SPLITS, dim), dtype=torch.float32)
    sums = q.new_empty((batch, heads, SPLITS), dtype=torch.float32)
    block = [1, BLOCK_N, 1, dim]
    part_kernel[(SPLITS, kv_heads, batch)](
        q,
        TensorDescriptor.from_tensor(k, block) if TMA else k,
        TensorDescriptor.from_tensor(v, block) if TMA else v,
        parts,
        sums,
        kv_len,
        kv_heads,
        dim**-0.5 * LOG2_E,
        GROUP=group,
        DIM=dim,
        SPLITS=SPLITS,
        BLOCK_H=max(16, triton.next_power_of_2(group)),
        BLOCK_N=BLOCK_N,
        TMA=TMA,
        **options,
    )
    whole_kernel[(batch * heads,)](parts, sums, o, DIM=dim, SPLITS=SPLITS, num_warps=4)
    return o
