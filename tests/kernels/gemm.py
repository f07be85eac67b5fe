"""GEMM for every operand type: C = A @ B, or A @ B.T with `transpose_B`."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def gemm(
    A,
    B,
    transpose_B=False,
    dtype=T.float16,
    out_dtype=T.float16,
    accum_dtype=T.float32,
    block_M=128,
    block_N=256,
    block_K=64,
    num_stages=3,
    threads=256,
):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), dtype)
    B: T.Tensor((N, K) if transpose_B else (K, N), dtype)
    C = T.empty((M, N), out_dtype)

    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
        A_shared = T.alloc_shared((block_M, block_K), dtype)
        B_shared = T.alloc_shared((block_N, block_K) if transpose_B else (block_K, block_N), dtype)
        C_local = T.alloc_fragment((block_M, block_N), accum_dtype)

        # Neighbouring programs work on the same panel of A, so that it stays in the L2 cache.
        T.use_swizzle(panel_size=8)
        T.clear(C_local)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=num_stages):
            T.copy(A[by * block_M, k * block_K], A_shared)
            if transpose_B:
                T.copy(B[bx * block_N, k * block_K], B_shared)
            else:
                T.copy(B[k * block_K, bx * block_N], B_shared)
            T.gemm(A_shared, B_shared, C_local, transpose_B=transpose_B)
        T.copy(C_local, C[by * block_M, bx * block_N])

    return C
