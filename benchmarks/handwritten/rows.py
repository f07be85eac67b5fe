"""Row kernels by hand: softmax, RMS norm and layer norm of whole rows in registers; long rows."""

import torch
import triton
import triton.language as tl
from torch import Tensor

CONFIGS = tuple(
    {"ROWS": rows, "num_warps": num_warps}
    for rows, num_warps in ((1, 4), (1, 8), (1, 16), (1, 32), (2, 8), (2, 16), (4, 16), (4, 32))
)
# A long row in pieces, which are read twice: the second time, mostly from the cache.
ONLINE_CONFIGS = tuple(
    {"BLOCK": block, "num_warps": warps, "STAGES": stages}
    for block, warps, stages in (
        (4096, 8, 2),
        (4096, 8, 3),
        (8192, 8, 2),
        (8192, 16, 2),
        (8192, 16, 3),
        (16384, 16, 2),
    )
)


@triton.jit
def softmax_kernel(x_ptr, y_ptr, M, N, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK)
    offsets = rows[:, None].to(tl.int64) * N + columns[None, :]
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    x = tl.load(x_ptr + offsets, mask=inside, other=-float("inf")).to(tl.float32)
    numerator = tl.exp(x - tl.max(x, 1)[:, None])
    y = numerator / tl.sum(numerator, 1)[:, None]
    tl.store(y_ptr + offsets, y.to(y_ptr.dtype.element_ty), mask=inside)


def softmax(x: Tensor, ROWS: int, num_warps: int) -> Tensor:
    M, N = x.shape
    y = torch.empty_like(x)
    grid = (triton.cdiv(M, ROWS),)
    block = triton.next_power_of_2(N)
    softmax_kernel[grid](x, y, M, N, ROWS=ROWS, BLOCK=block, num_warps=num_warps)
    return y


@triton.jit
def softmax_online_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * N
    lane_max = tl.full((BLOCK,), -1e30, tl.float32)
    lane_sum = tl.zeros((BLOCK,), tl.float32)
    for first in tl.range(0, N, BLOCK, num_stages=STAGES):
        columns = first + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + columns, mask=columns < N, other=0.0).to(tl.float32)
        x = tl.where(columns < N, x, -1e30)
        # Each lane has a maximum and a sum of its own, so that no turn waits for the others.
        new_max = tl.maximum(lane_max, x)
        lane_sum = lane_sum * tl.exp(lane_max - new_max) + tl.exp(x - new_max)
        lane_max = new_max
    row_max = tl.max(lane_max, 0)
    row_sum = tl.sum(lane_sum * tl.exp(lane_max - row_max), 0)
    for first in tl.range(0, N, BLOCK, num_stages=STAGES):
        columns = first + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row + columns, mask=columns < N, other=0.0).to(tl.float32)
        y = tl.exp(x - row_max) / row_sum
        tl.store(y_ptr + row + columns, y.to(y_ptr.dtype.element_ty), mask=columns < N)


def softmax_online(x: Tensor, BLOCK: int, num_warps: int, STAGES: int) -> Tensor:
    M, N = x.shape
    y = torch.empty_like(x)
    softmax_online_kernel[(M,)](x, y, N, BLOCK=BLOCK, STAGES=STAGES, num_warps=num_warps)
    return y


@triton.jit
def rms_norm_kernel(x_ptr, w_ptr, y_ptr, M, N, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK)
    offsets = rows[:, None].to(tl.int64) * N + columns[None, :]
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    x = tl.load(x_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + columns, mask=columns < N, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, 1) / N + eps)
    y = x * scale[:, None] * w[None, :]
    tl.store(y_ptr + offsets, y.to(y_ptr.dtype.element_ty), mask=inside)


def rms_norm(x: Tensor, w: Tensor, eps: float, ROWS: int, num_warps: int) -> Tensor:
    M, N = x.shape
    y = torch.empty_like(x)
    grid = (triton.cdiv(M, ROWS),)
    block = triton.next_power_of_2(N)
    rms_norm_kernel[grid](x, w, y, M, N, eps, ROWS=ROWS, BLOCK=block, num_warps=num_warps)
    return y


@triton.jit
def layer_norm_kernel(
    x_ptr, w_ptr, bias_ptr, y_ptr, M, N, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK)
    offsets = rows[:, None].to(tl.int64) * N + columns[None, :]
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    x = tl.load(x_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + columns, mask=columns < N, other=0.0).to(tl.float32)
    bias = tl.load(bias_ptr + columns, mask=columns < N, other=0.0).to(tl.float32)
    mean = tl.sum(x, 1) / N
    centred = tl.where(columns[None, :] < N, x - mean[:, None], 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, 1) / N + eps)
    y = centred * scale[:, None] * w[None, :] + bias[None, :]
    tl.store(y_ptr + offsets, y.to(y_ptr.dtype.element_ty), mask=inside)


def layer_norm(x: Tensor, w: Tensor, bias: Tensor, eps: float, ROWS: int, num_warps: int) -> Tensor:
    M, N = x.shape
    y = torch.empty_like(x)
    grid = (triton.cdiv(M, ROWS),)
    block = triton.next_power_of_2(N)
    layer_norm_kernel[grid](x, w, bias, y, M, N, eps, ROWS=ROWS, BLOCK=block, num_warps=num_warps)
    return y
