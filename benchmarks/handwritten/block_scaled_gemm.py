"""fp8 GEMM with block scales by hand: TMA, and sums of 128 elements that are scaled in float32."""

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

from benchmarks.handwritten.gemm import tile_of

GROUP = tl.constexpr(128)
CONFIGS = tuple(
    {"BLOCK_M": m, "BLOCK_N": n, "num_warps": warps, "num_stages": stages}
    for m, n, warps, stages in (
        (64, 128, 4, 3),
        (64, 128, 4, 4),
        (128, 128, 4, 3),
        (128, 128, 4, 4),
        (128, 128, 8, 3),
        (128, 128, 8, 4),
        (256, 128, 8, 3),
    )
)


@triton.jit
def block_scaled_kernel(
    a_desc,
    b_desc,
    c_desc,
    a_scales_ptr,
    b_scales_ptr,
    M,
    N,
    K,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    pid_m, pid_n = tile_of(tl.program_id(0), M, N, BLOCK_M, BLOCK_N, 8)
    rows = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    inside = rows < M
    a_scales_ptr += rows
    b_scales_ptr += pid_n * BLOCK_N // GROUP * (K // GROUP)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(0, K // GROUP):
        a = a_desc.load([pid_m * BLOCK_M, k * GROUP])
        b = b_desc.load([pid_n * BLOCK_N, k * GROUP])
        scale = tl.load(a_scales_ptr + k * M, mask=inside, other=0.0) * tl.load(b_scales_ptr + k)
        total += tl.dot(a, b.T) * scale[:, None]
    c_desc.store([pid_m * BLOCK_M, pid_n * BLOCK_N], total.to(c_desc.dtype))


def block_scaled_gemm(
    a: Tensor,
    b: Tensor,
    a_scales: Tensor,
    b_scales: Tensor,
    BLOCK_M: int,
    BLOCK_N: int,
    out_dtype: torch.dtype = torch.bfloat16,
    **options: int,
) -> Tensor:
    """K is a multiple of 128, and BLOCK_N divides 128 or is 128."""
    (M, K), N = a.shape, b.shape[0]
    c = torch.empty((M, N), device=a.device, dtype=out_dtype)
    block_scaled_kernel[(triton.cdiv(M, BLOCK_M) * triton.cdiv(N, BLOCK_N),)](
        TensorDescriptor.from_tensor(a, [BLOCK_M, GROUP.value]),
        TensorDescriptor.from_tensor(b, [BLOCK_N, GROUP.value]),
        TensorDescriptor.from_tensor(c, [BLOCK_M, BLOCK_N]),
        a_scales,
        b_scales,
        M,
        N,
        K,
        BLOCK_M=BLOCK_M,
        BLOCK_N=BLOCK_N,
        **options,
    )
    return c
