"""Mamba-1's selective scan by hand: sequential, and with an associative scan over chunks."""

import functools
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

LOG2_E = tl.constexpr(1.4426950408889634)
SEQUENTIAL = tuple(
    {"BLOCK_D": block, "num_warps": warps, "STAGES": stages}
    for block, warps, stages in (
        (16, 1, 4),
        (32, 1, 2),
        (32, 1, 4),
        (64, 1, 3),
        (64, 1, 4),
        (64, 1, 6),
        (64, 2, 4),
        (128, 2, 4),
    )
)
ASSOCIATIVE = tuple(
    {"BLOCK_D": block, "CHUNK": chunk, "num_warps": warps, "num_stages": stages}
    for block, chunk, warps, stages in (
        (1, 256, 4, 2),
        (2, 128, 4, 2),
        (4, 64, 4, 2),
        (4, 128, 4, 2),
        (8, 32, 4, 2),
        (8, 64, 4, 3),
        (8, 64, 8, 2),
        (16, 32, 4, 2),
    )
)


@triton.jit
def opened(a_ptr, dim, STATE: tl.constexpr, BLOCK_D: tl.constexpr):
    """A program's columns, the numbers of their states, A for powers of 2, and the first states."""
    columns = tl.program_id(0) * BLOCK_D + tl.arange(0, BLOCK_D)
    states = tl.arange(0, STATE)
    a = tl.load(a_ptr + columns[:, None] * STATE + states, mask=columns[:, None] < dim, other=0.0)
    return columns, states, a * LOG2_E, tl.zeros((BLOCK_D, STATE), tl.float32)


@triton.jit
def sequential_kernel(
    x_ptr,
    delta_ptr,
    a_ptr,
    b_ptr,
    c_ptr,
    y_ptr,
    seq_len,
    dim,
    STATE: tl.constexpr,
    BLOCK_D: tl.constexpr,
    STAGES: tl.constexpr,
):
    columns, states, a, h = opened(a_ptr, dim, STATE, BLOCK_D)
    inside = columns < dim
    base = tl.program_id(1).to(tl.int64) * seq_len
    for t in tl.range(0, seq_len, num_stages=STAGES):
        row = (base + t) * dim + columns
        delta = tl.load(delta_ptr + row, mask=inside, other=0.0).to(tl.float32)
        x = tl.load(x_ptr + row, mask=inside, other=0.0).to(tl.float32)
        b = tl.load(b_ptr + (base + t) * STATE + states).to(tl.float32)
        c = tl.load(c_ptr + (base + t) * STATE + states).to(tl.float32)
        h = tl.exp2(delta[:, None] * a) * h + (delta * x)[:, None] * b[None, :]
        y = tl.sum(h * c[None, :], axis=1)
        tl.store(y_ptr + row, y.to(y_ptr.dtype.element_ty), mask=inside)


@triton.jit
def combined(decay_1, h_1, decay_2, h_2):
    return decay_1 * decay_2, decay_2 * h_1 + h_2


@triton.jit
def associative_kernel(
    x_ptr,
    delta_ptr,
    a_ptr,
    b_ptr,
    c_ptr,
    y_ptr,
    seq_len,
    dim,
    STATE: tl.constexpr,
    BLOCK_D: tl.constexpr,
    CHUNK: tl.constexpr,
):
    columns, states, a, h = opened(a_ptr, dim, STATE, BLOCK_D)
    rows = tl.arange(0, CHUNK)
    base = tl.program_id(1).to(tl.int64) * seq_len
    for first in range(0, seq_len, CHUNK):
        row = base + first + rows
        inside = first + rows < seq_len
        both = inside[:, None] & (columns[None, :] < dim)
        places = row[:, None] * dim + columns[None, :]
        delta = tl.load(delta_ptr + places, mask=both, other=0.0).to(tl.float32)
        x = tl.load(x_ptr + places, mask=both, other=0.0).to(tl.float32)
        vectors = row[:, None] * STATE + states[None, :]
        b = tl.load(b_ptr + vectors, mask=inside[:, None], other=0.0).to(tl.float32)
        c = tl.load(c_ptr + vectors, mask=inside[:, None], other=0.0).to(tl.float32)
        # Behind the end delta is 0, which leaves the state as it is.
        decay = tl.exp2(delta[:, :, None] * a[None, :, :])
        added = (delta * x)[:, :, None] * b[:, None, :]
        decay, added = tl.associative_scan((decay, added), 0, combined)
        own = decay * h[None, :, :] + added
        y = tl.sum(own * c[:, None, :], axis=2)
        tl.store(y_ptr + places, y.to(y_ptr.dtype.element_ty), mask=both)
        is_last = (rows == CHUNK - 1)[:, None, None]
        h = tl.sum(tl.where(is_last, own, 0.0), axis=0)


def launched(
    kernel: Any, x: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, **options: int
) -> Tensor:
    y = torch.empty_like(x)
    batch, seq_len, dim = x.shape
    grid = triton.cdiv(dim, options["BLOCK_D"]), batch
    kernel[grid](x, delta, A, B, C, y, seq_len, dim, STATE=A.shape[1], **options)
    return y


sequential = functools.partial(launched, sequential_kernel)
associative = functools.partial(launched, associative_kernel)
