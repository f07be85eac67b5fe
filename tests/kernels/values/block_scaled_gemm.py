"""C = A @ Bᵀ in fp8, with a scale for 128 elements of A's rows, and for 128 x 128 of B's."""

import tile2triton
import tile2triton.language as T

GROUP = 128


@tile2triton.kernel
def block_scaled_gemm(
    A,
    B,
    A_scales,
    B_scales,
    block_M=128,
    block_N=128,
    num_stages=3,
    threads=256,
    dtype=T.float8_e4m3fn,
    out_dtype=T.bfloat16,
):
    M, N, K, groups_N, groups_K = T.const("M, N, K, groups_N, groups_K")
    A: T.Tensor((M, K), dtype)
    B: T.Tensor((N, K), dtype)
    A_scales: T.Tensor((groups_K, M), T.float32)
    B_scales: T.Tensor((groups_N, groups_K), T.float32)
    C = T.empty((M, N), out_dtype)

    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
        T.use_swizzle(panel_size=8)
        total = T.zeros((block_M, block_N))
        for k in T.Pipelined(T.ceildiv(K, GROUP), num_stages=num_stages):
            a = T.copy(A[by * block_M : (by + 1) * block_M, k * GROUP : (k + 1) * GROUP])
            b = T.copy(B[bx * block_N : (bx + 1) * block_N, k * GROUP : (k + 1) * GROUP])
            part = T.gemm(a, b, transpose_B=True)
            scale = T.copy(A_scales[k, by * block_M : (by + 1) * block_M])
            total += part * (scale * B_scales[bx * block_N // GROUP, k])[:, None]
        T.copy(total, C[by * block_M, bx * block_N])

    return C
