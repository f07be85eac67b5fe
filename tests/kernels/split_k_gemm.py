"""Split-K GEMM: `split_k` programs share one tile of C and add their parts with atomics."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def split_k_gemm(
    A,
    B,
    C,
    split_k=4,
    block_M=128,
    block_N=128,
    block_K=64,
    num_stages=3,
    threads=128,
    dtype=T.float16,
):
    """C += A @ B, with C in fp32: the caller gives zeros, or what is to be added to."""
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), dtype)
    B: T.Tensor((K, N), dtype)
    C: T.Tensor((M, N), T.float32)

    grid = (T.ceildiv(N, block_N), T.ceildiv(M, block_M), split_k)
    with T.Kernel(*grid, threads=threads) as (bx, by, bz):
        A_shared = T.alloc_shared((block_M, block_K), dtype)
        B_shared = T.alloc_shared((block_K, block_N), dtype)
        C_local = T.alloc_fragment((block_M, block_N), T.float32)

        T.clear(C_local)
        steps = T.ceildiv(K, block_K * split_k)
        for k in T.Pipelined(steps, num_stages=num_stages):
            # Past the end of K both tiles are zero and add nothing.
            T.copy(A[by * block_M, (bz * steps + k) * block_K], A_shared)
            T.copy(B[(bz * steps + k) * block_K, bx * block_N], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        T.atomic_add(C[by * block_M, bx * block_N], C_local)
