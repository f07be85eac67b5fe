"""Retention by hand: one fused kernel, the state carried over chunks in registers."""

import torch
import triton
import triton.language as tl
from torch import Tensor

from benchmarks.handwritten.linear_attention import CONFIGS as CONFIGS


@triton.jit
def retention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    rate_ptr,
    o_ptr,
    seq_len,
    heads,
    DIM_K: tl.constexpr,
    DIM_V: tl.constexpr,
    BLOCK_V: tl.constexpr,
    CHUNK: tl.constexpr,
):
    base = tl.program_id(2).to(tl.int64) * seq_len * heads + tl.program_id(1)
    rate = tl.load(rate_ptr + tl.program_id(1))
    rows = tl.arange(0, CHUNK)
    keys = tl.arange(0, DIM_K)
    values = tl.program_id(0) * BLOCK_V + tl.arange(0, BLOCK_V)
    steps = rows[:, None] - rows[None, :]
    within = tl.where(steps >= 0, tl.exp2(rate * steps), 0.0)
    before = tl.exp2(rate * (rows + 1))
    after = tl.exp2(rate * (CHUNK - 1 - rows))
    whole = tl.exp2(rate * CHUNK)
    state = tl.zeros((DIM_K, BLOCK_V), tl.float32)
    for first in range(0, seq_len, CHUNK):
        row = base + (first + rows[:, None]) * heads
        inside = first + rows[:, None] < seq_len
        value_inside = inside & (values[None, :] < DIM_V)
        q = tl.load(q_ptr + row * DIM_K + keys[None, :], mask=inside, other=0.0)
        k = tl.load(k_ptr + row * DIM_K + keys[None, :], mask=inside, other=0.0)
        v = tl.load(v_ptr + row * DIM_V + values[None, :], mask=value_inside, other=0.0)
        o = tl.dot(q, state.to(q.dtype)) * before[:, None]
        scores = tl.dot(q, k.T) * within
        o = tl.dot(scores.to(v.dtype), v, o)
        decayed = (v * after[:, None]).to(v.dtype)
        state = tl.dot(k.T, decayed, state * whole)
        o_ptrs = o_ptr + row * DIM_V + values[None, :]
        tl.store(o_ptrs, o.to(o_ptr.dtype.element_ty), mask=value_inside)


def retention(
    q: Tensor, k: Tensor, v: Tensor, rate: Tensor, CHUNK: int, BLOCK_V: int, **options: int
) -> Tensor:
    """(batch, seq_len, heads, dim) each; `rate` is the logarithm to base 2 of each head's decay."""
    batch, seq_len, heads, dim_k = q.shape
    dim_v = v.shape[3]
    o = torch.empty_like(v)
    retention_kernel[(triton.cdiv(dim_v, BLOCK_V), heads, batch)](
        q,
        k,
        v,
        rate,
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
