"""Bias and GELU by hand: two-dimensional tiles, so that the bias is read once a tile row."""

import torch
import triton
import triton.language as tl
from torch import Tensor

CONFIGS = tuple(
    {"BLOCK_M": block_m, "BLOCK_N": block_n, "num_warps": num_warps}
    for block_m, block_n, num_warps in (
        (1, 1024, 4),
        (1, 2048, 4),
        (2, 1024, 4),
        (4, 512, 4),
        (4, 1024, 4),
        (4, 1024, 8),
        (8, 512, 8),
        (8, 1024, 8),
    )
)


@triton.jit
def bias_gelu_kernel(x_ptr, bias_ptr, y_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(1) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    offsets = rows[:, None].to(tl.int64) * N + columns[None, :]
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    x = tl.load(x_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
    bias = tl.load(bias_ptr + columns, mask=columns < N, other=0.0).to(tl.float32)
    x += bias[None, :]
    y = 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))
    tl.store(y_ptr + offsets, y.to(y_ptr.dtype.element_ty), mask=inside)


def bias_gelu(x: Tensor, bias: Tensor, BLOCK_M: int, BLOCK_N: int, num_warps: int) -> Tensor:
    M, N = x.shape
    y = torch.empty_like(x)
    grid = (triton.cdiv(N, BLOCK_N), triton.cdiv(M, BLOCK_M))
    bias_gelu_kernel[grid](x, bias, y, M, N, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, num_warps=num_warps)
    return y
