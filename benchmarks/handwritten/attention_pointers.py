"""Attention forward by hand, with pointers: unmasked and masked loops over the keys."""

import torch
import triton
import triton.language as tl
from torch import Tensor

CONFIGS = (
    {"BLOCK_M": 128, "BLOCK_N": 128, "num_warps": 8, "num_stages": 2},
    {"BLOCK_M": 128, "BLOCK_N": 64, "num_warps": 8, "num_stages": 3},
    {"BLOCK_M": 128, "BLOCK_N": 64, "num_warps": 8, "num_stages": 4},
    {"BLOCK_M": 128, "BLOCK_N": 64, "num_warps": 4, "num_stages": 3},
    {"BLOCK_M": 64, "BLOCK_N": 128, "num_warps": 4, "num_stages": 2},
    {"BLOCK_M": 64, "BLOCK_N": 64, "num_warps": 4, "num_stages": 3},
)
LOG2E = 1.4426950408889634


@triton.jit
def attend(
    acc,
    row_max,
    row_sum,
    q,
    k_ptrs,
    v_ptrs,
    stride_row,
    first_row,
    start,
    stop,
    seq_len,
    scale,
    MASKED: tl.constexpr,
    CAUSAL: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    k_ptrs += start * stride_row
    v_ptrs += start * stride_row
    for first in tl.range(start, stop, BLOCK_N):
        columns = first + tl.arange(0, BLOCK_N)
        if MASKED:
            k = tl.load(k_ptrs, mask=columns[None, :] < seq_len, other=0.0)
            v = tl.load(v_ptrs, mask=columns[:, None] < seq_len, other=0.0)
        else:
            k = tl.load(k_ptrs)
            v = tl.load(v_ptrs)
        scores = tl.dot(q, k)
        if MASKED:
            if CAUSAL:
                rows = first_row + tl.arange(0, BLOCK_M)
                scores = tl.where(columns[None, :] <= rows[:, None], scores, -float("inf"))
            else:
                scores = tl.where(columns[None, :] < seq_len, scores, -float("inf"))
        new_max = tl.maximum(row_max, tl.max(scores, 1) * scale)
        weights = tl.exp2(scores * scale - new_max[:, None])
        rescale = tl.exp2(row_max - new_max)
        row_sum = row_sum * rescale + tl.sum(weights, 1)
        acc = acc * rescale[:, None]
        acc = tl.dot(weights.to(v.dtype), v, acc)
        row_max = new_max
        k_ptrs += BLOCK_N * stride_row
        v_ptrs += BLOCK_N * stride_row
    return acc, row_max, row_sum


@triton.jit
def pointer_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    o_ptr,
    stride_batch,
    stride_head,
    stride_row,
    seq_len,
    scale,
    CAUSAL: tl.constexpr,
    RAGGED: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    DIM: tl.constexpr,
):
    first_row = tl.program_id(0) * BLOCK_M
    if CAUSAL:
        first_row = (tl.num_programs(0) - 1 - tl.program_id(0)) * BLOCK_M
    base = tl.program_id(2).to(tl.int64) * stride_batch
    base += tl.program_id(1).to(tl.int64) * stride_head
    rows = first_row + tl.arange(0, BLOCK_M)
    columns = tl.arange(0, BLOCK_N)
    dims = tl.arange(0, DIM)
    row_offsets = base + rows[:, None] * stride_row + dims[None, :]
    k_ptrs = k_ptr + base + columns[None, :] * stride_row + dims[:, None]
    v_ptrs = v_ptr + base + columns[:, None] * stride_row + dims[None, :]
    q = tl.load(q_ptr + row_offsets, mask=rows[:, None] < seq_len, other=0.0)
    acc = tl.zeros((BLOCK_M, DIM), tl.float32)
    row_max = tl.full((BLOCK_M,), -float("inf"), tl.float32)
    row_sum = tl.zeros((BLOCK_M,), tl.float32)
    if CAUSAL:
        whole = first_row // BLOCK_N * BLOCK_N
        stop = min(first_row + BLOCK_M, seq_len)
    else:
        whole = seq_len // BLOCK_N * BLOCK_N
        stop = seq_len
    acc, row_max, row_sum = attend(
        acc,
        row_max,
        row_sum,
        q,
        k_ptrs,
        v_ptrs,
        stride_row,
        first_row,
        0,
        whole,
        seq_len,
        scale,
        MASKED=False,
        CAUSAL=CAUSAL,
        BLOCK_M=BLOCK_M,
        BLOCK_N=BLOCK_N,
    )
    if CAUSAL or RAGGED:
        acc, row_max, row_sum = attend(
            acc,
            row_max,
            row_sum,
            q,
            k_ptrs,
            v_ptrs,
            stride_row,
            first_row,
            whole,
            stop,
            seq_len,
            scale,
            MASKED=True,
            CAUSAL=CAUSAL,
            BLOCK_M=BLOCK_M,
            BLOCK_N=BLOCK_N,
        )
    o = (acc / row_sum[:, None]).to(o_ptr.dtype.element_ty)
    tl.store(o_ptr + row_offsets, o, mask=rows[:, None] < seq_len)


def attention_pointers(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    is_causal: bool,
    layout: str,
    BLOCK_M: int,
    BLOCK_N: int,
    **options: int,
) -> Tensor:
    heads_axis, row_axis = (2, 1) if layout == "bshd" else (1, 2)
    seq_len, dim = q.shape[row_axis], q.shape[3]
    o = torch.empty_like(q)
    pointer_kernel[(triton.cdiv(seq_len, BLOCK_M), q.shape[heads_axis], q.shape[0])](
        q,
        k,
        v,
        o,
        q.stride(0),
        q.stride(heads_axis),
        q.stride(row_axis),
        seq_len,
        dim**-0.5 * LOG2E,
        CAUSAL=is_causal,
        RAGGED=seq_len % BLOCK_N != 0,
        BLOCK_M=BLOCK_M,
        BLOCK_N=BLOCK_N,
        DIM=dim,
        **options,
    )
    return o
