"""Sums of rows and of everything by hand: whole rows in registers, and two kernels."""

import torch
import triton
import triton.language as tl
from torch import Tensor

ROW_CONFIGS = tuple(
    {"ROWS": rows, "num_warps": num_warps}
    for rows, num_warps in ((1, 4), (1, 8), (1, 16), (2, 8), (2, 16), (4, 8), (4, 16))
)
FULL_CONFIGS = tuple(
    {"PROGRAMS": programs, "BLOCK": block, "num_warps": warps, "STAGES": stages}
    for programs, block, warps, stages in (
        (512, 4096, 4, 2),
        (512, 8192, 8, 2),
        (512, 8192, 8, 3),
        (1024, 4096, 4, 2),
        (1024, 8192, 8, 2),
        (2048, 8192, 4, 2),
        (2048, 4096, 4, 3),
        (4096, 4096, 4, 2),
    )
)


@triton.jit
def row_sum_kernel(x_ptr, sums_ptr, M, N, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK)
    offsets = rows[:, None].to(tl.int64) * N + columns[None, :]
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    x = tl.load(x_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
    tl.store(sums_ptr + rows, tl.sum(x, 1), mask=rows < M)


def row_sum(x: Tensor, ROWS: int, num_warps: int) -> Tensor:
    M, N = x.shape
    sums = x.new_empty((M,), dtype=torch.float32)
    grid = (triton.cdiv(M, ROWS),)
    block = triton.next_power_of_2(N)
    row_sum_kernel[grid](x, sums, M, N, ROWS=ROWS, BLOCK=block, num_warps=num_warps)
    return sums


@triton.jit
def parts_kernel(
    x_ptr, parts_ptr, N, PROGRAMS: tl.constexpr, BLOCK: tl.constexpr, STAGES: tl.constexpr
):
    sums = tl.zeros((BLOCK,), tl.float32)
    for first in tl.range(tl.program_id(0) * BLOCK, N, PROGRAMS * BLOCK, num_stages=STAGES):
        places = first + tl.arange(0, BLOCK)
        sums += tl.load(x_ptr + places, mask=places < N, other=0.0).to(tl.float32)
    tl.store(parts_ptr + tl.program_id(0), tl.sum(sums, 0))


@triton.jit
def whole_kernel(parts_ptr, total_ptr, PROGRAMS: tl.constexpr):
    parts = tl.load(parts_ptr + tl.arange(0, PROGRAMS))
    tl.store(total_ptr, tl.sum(parts, 0))


def full_sum(x: Tensor, PROGRAMS: int, BLOCK: int, num_warps: int, STAGES: int) -> Tensor:
    """PROGRAMS is a power of two; the sum is the same one each time."""
    parts = x.new_empty((PROGRAMS,), dtype=torch.float32)
    total = x.new_empty((1,), dtype=torch.float32)
    parts_kernel[(PROGRAMS,)](x, parts, x.numel(), PROGRAMS, BLOCK, STAGES, num_warps=num_warps)
    whole_kernel[(1,)](parts, total, PROGRAMS, num_warps=4)
    return total
