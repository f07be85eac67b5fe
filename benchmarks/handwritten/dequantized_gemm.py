"""A @ Wᵀ of 4-bit integers by hand: W on the right, or on the left, which keeps it in registers."""

import triton
import triton.language as tl
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

from benchmarks.handwritten.gemm import tile_of

TILES = tuple(
    {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "num_warps": warps, "num_stages": stages}
    for m, n, k, warps, stages in (
        (128, 128, 64, 4, 3),
        (128, 128, 64, 8, 3),
        (128, 128, 64, 8, 4),
        (128, 128, 128, 8, 3),
        (128, 256, 64, 8, 3),
        (256, 128, 64, 8, 3),
    )
)
FEW_ROWS = tuple(
    {"BLOCK_M": 16, "BLOCK_N": n, "BLOCK_K": k, "num_warps": warps, "num_stages": stages}
    for n, k, warps, stages in (
        (64, 128, 4, 3),
        (64, 128, 4, 5),
        (64, 256, 4, 4),
        (128, 128, 4, 4),
        (32, 256, 4, 4),
    )
)
CONFIGS = tuple({**tile, "LEFT": left} for tile in TILES for left in (False, True))
FEW_ROWS_CONFIGS = tuple({**tile, "LEFT": left} for tile in FEW_ROWS for left in (False, True))


@triton.jit
def dequantized_kernel(
    a_desc,
    w_desc,
    c_desc,
    scales_ptr,
    M,
    N,
    K,
    GROUP: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    LEFT: tl.constexpr,
):
    pid_m, pid_n = tile_of(tl.program_id(0), M, N, BLOCK_M, BLOCK_N, 8)
    columns = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    scales_ptr += columns * (K // GROUP)
    never = tl.program_id(0) // tl.num_programs(0) == 1
    acc = tl.zeros((BLOCK_N, BLOCK_M) if LEFT else (BLOCK_M, BLOCK_N), tl.float32)
    for k in range(0, K, BLOCK_K):
        a = a_desc.load([pid_m * BLOCK_M, k])
        codes = w_desc.load([pid_n * BLOCK_N, k // 2])
        scale = tl.load(scales_ptr + k // GROUP, mask=columns < N, other=0.0)
        low = ((codes & 15).to(a.dtype) - 8) * scale[:, None]
        high = ((codes >> 4).to(a.dtype) - 8) * scale[:, None]
        w = tl.interleave(low, high)
        if LEFT:
            acc = tl.dot(w, a.T, acc)
            # Makes Triton wait before `w` changes: https://github.com/triton-lang/triton/issues/9433
            if never:
                acc = tl.zeros_like(acc)
        else:
            acc = tl.dot(a, w.T, acc)
    if LEFT:
        acc = acc.T
    c_desc.store([pid_m * BLOCK_M, pid_n * BLOCK_N], acc.to(c_desc.dtype))


def dequantized_gemm(
    a: Tensor,
    w: Tensor,
    scales: Tensor,
    BLOCK_M: int,
    BLOCK_N: int,
    BLOCK_K: int,
    LEFT: bool,
    **options: int,
) -> Tensor:
    """K is a multiple of BLOCK_K, and each group of one scale is, too."""
    (M, K), N = a.shape, w.shape[0]
    c = a.new_empty(M, N)
    dequantized_kernel[(triton.cdiv(M, BLOCK_M) * triton.cdiv(N, BLOCK_N),)](
        TensorDescriptor.from_tensor(a, [BLOCK_M, BLOCK_K]),
        TensorDescriptor.from_tensor(w, [BLOCK_N, BLOCK_K // 2]),
        TensorDescriptor.from_tensor(c, [BLOCK_M, BLOCK_N]),
        scales,
        M,
        N,
        K,
        GROUP=K // scales.shape[1],
        BLOCK_M=BLOCK_M,
        BLOCK_N=BLOCK_N,
        BLOCK_K=BLOCK_K,
        LEFT=LEFT,
        **options,
    )
    return c
