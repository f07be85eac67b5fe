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
        A_shared = T.alloc_shared((block_M, GROUP), dtype)
        B_shared = T.alloc_shared((block_N, GROUP), dtype)
        scale = T.alloc_fragment((block_M,), T.float32)
        part = T.alloc_fragment((block_M, block_N), T.float32)
        total = T.alloc_fragment((block_M, block_N), T.float32)

        T.use_swizzle(panel_size=8)
        T.clear(total)
        for k in T.Pipelined(T.ceildiv(K, GROUP), num_stages=num_stages):
            T.copy(A[by * block_M, k * GROUP], A_shared)
            T.copy(B[bx * block_N, k * GROUP], B_shared)
            T.gemm(A_shared, B_shared, part, transpose_B=True, clear_accum=True)
            T.copy(A_scales[k, by * block_M : (by + 1) * block_M], scale)
            for i in T.Parallel(block_M):
                scale[i] *= B_scales[bx * block_N // GROUP, k]
            for i, j in T.Parallel(block_M, block_N):
                total[i, j] += part[i, j] * scale[i]
        T.copy(total, C[by * block_M, bx * block_N])

    return C
