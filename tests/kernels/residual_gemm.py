"""A matrix product whose residual is fetched before the loop, and added after it."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def residual_gemm(A, B, R, block_M=128, block_N=128, block_K=64):
    """A[M, K] @ B[K, N] + R[M, N], summed in float32."""
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), "bfloat16")
    B: T.Tensor((K, N), "bfloat16")
    R: T.Tensor((M, N), "bfloat16")
    C = T.empty((M, N), "bfloat16")
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=256) as (bx, by):
        A_shared = T.alloc_shared((block_M, block_K), "bfloat16")
        B_shared = T.alloc_shared((block_K, block_N), "bfloat16")
        R_shared = T.alloc_shared((block_M, block_N), "bfloat16")
        total = T.alloc_fragment((block_M, block_N), "float32")
        T.copy(R[by * block_M, bx * block_N], R_shared, disable_tma=True)
        T.clear(total)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=3):
            T.copy(A[by * block_M, k * block_K], A_shared)
            T.copy(B[k * block_K, bx * block_N], B_shared)
            T.gemm(A_shared, B_shared, total)
        for i, j in T.Parallel(block_M, block_N):
            total[i, j] += R_shared[i, j]
        T.copy(total, C[by * block_M, bx * block_N])
    return C
