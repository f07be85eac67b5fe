"""C = A @ Wᵀ, where W has 4-bit integers, two in a byte, and a scale for each group of a row."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def dequantized_gemm(
    A, W, scales, block_M=128, block_N=128, block_K=64, num_stages=3, threads=256, dtype=T.float16
):
    M, N, K, bytes_K, groups = T.const("M, N, K, bytes_K, groups")
    A: T.Tensor((M, K), dtype)
    W: T.Tensor((N, bytes_K), T.uint8)
    scales: T.Tensor((N, groups), dtype)
    C = T.empty((M, N), dtype)

    group = K // groups
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
        A_shared = T.alloc_shared((block_M, block_K), dtype)
        W_shared = T.alloc_shared((block_N, block_K // 2), T.uint8)
        scale = T.alloc_fragment((block_N,), dtype)
        W_local = T.alloc_fragment((block_N, block_K), dtype)
        C_local = T.alloc_fragment((block_M, block_N), T.float32)

        T.use_swizzle(panel_size=8)
        T.clear(C_local)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=num_stages):
            T.copy(A[by * block_M, k * block_K], A_shared)
            T.copy(W[bx * block_N, k * (block_K // 2)], W_shared)
            T.copy(scales[bx * block_N : (bx + 1) * block_N, k * block_K // group], scale)
            # The lower four bits of a byte come first; 8 stands for 0.
            for i, j in T.Parallel(block_N, block_K):
                code = (W_shared[i, j // 2] >> (4 * (j % 2))) & 15
                W_local[i, j] = (T.cast(code, dtype) - 8) * scale[i]
            T.gemm(A_shared, W_local, C_local, transpose_B=True)
        T.copy(C_local, C[by * block_M, bx * block_N])

    return C
