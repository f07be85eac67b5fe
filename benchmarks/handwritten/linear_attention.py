"""Causal linear attention by hand: one fused kernel, the state carried over chunks in registers."""

import torch
import triton
import triton.language as tl
from torch import Tensor

CONFIGS = tuple(
    {"CHUNK": chunk, "BLOCK_V": block_v, "num_warps": num_warps, "num_stages": num_stages}
    for chunk, block_v, num_warps, num_stages in (
        (64, 64, 4, 2),
        (64, 64, 4, 3),
        (64, 128, 4, 2),
        (64, 128, 8, 2),
        (64, 128, 8, 3),
        (128, 64, 4, 2),
        (128, 64, 8, 2),
        (128, 128, 8, 2),
    )
)


@triton.jit
def linear_attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    seq_len,
    heads,
    DIM_K: tl.constexpr,
    DIM_V: tl.constexpr,
    BLOCK_V: tl.constexpr,
    CHUNK: tl.constexpr,
):
    base = tl.program_id(2).to(tl.int64) * seq_len * heads + tl.program_id(1)
    rows = tl.arange(0, CHUNK)
    keys = tl.arange(0, DIM_K)
    values = tl.program_id(0) * BLOCK_V + tl.arange(0, BLOCK_V)
    causal = rows[:, None] >= rows[None, :]
    state = tl.zeros((DIM_K, BLOCK_V), tl.float32)
    for first in range(0, seq_len, CHUNK):
        row = base + (first + rows[:, None]) * heads
        inside = first + rows[:, None] < seq_len
        value_inside = inside & (values[None, :] < DIM_V)
        q = tl.load(q_ptr + row * DIM_K + keys[None, :], mask=inside, other=0.0)
        k = tl.load(k_ptr + row * DIM_K + keys[None, :], mask=inside, other=0.0)
        v = tl.load(v_ptr + row * DIM_V + values[None, :], mask=value_inside, other=0.0)
        scores = tl.where(causal, tl.dot(q, k.T), 0.0)
        o = tl.dot(scores.to(v.dtype), v)
        o = tl.dot(q, state.to(q.dtype), o)
        state = tl.dot(k.T, v, state)
        o_ptrs = o_ptr + row * DIM_V + values[None, :]
        tl.store(o_ptrs, o.to(o_ptr.dtype.element_ty), mask=value_inside)


def linear_attention(
    q: Tensor, k: Tensor, v: Tensor, CHUNK: int, BLOCK_V: int, **options: int
) -> Tensor:
    batch, seq_len, heads, dim_k = q.shape
    dim_v = v.shape[3]
    o = torch.empty_like(v)
    linear_attention_kernel[(triton.cdiv(dim_v, BLOCK_V), heads, batch)](
        q,
        k,
        v,
        o,
        seq_len,
        heads,
        DIM_K=dim_k,
        DIM_V=dim_v,
        BLOCK_V=BLOCK_V,
        CHUNK=CHUNK,
        **options,
    )
    return o
