"""Kernels about T.gemm and the order of statements in a pipelined loop."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel(out_idx=[-1])
def matmul(M, N, K, block_M, block_N, block_K, dtype="float16"):
    @T.prim_func
    def product(
        A: T.Tensor((M, K), dtype), B: T.Tensor((K, N), dtype), C: T.Tensor((M, N), "float32")
    ):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), dtype)
            B_shared = T.alloc_shared((block_K, block_N), dtype)
            C_local = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
                T.copy(A[by * block_M, k * block_K], A_shared)
                T.copy(B[k * block_K, bx * block_N], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * block_M, bx * block_N])

    return product


@tile2triton.kernel(out_idx=[-1])
def matmul_onto(A_scope, B_scope, clear_accum, K=32, start=5.0):
    """One product onto an accumulator that was filled before."""
    alloc = {"shared": T.alloc_shared, "fragment": T.alloc_fragment}

    @T.prim_func
    def product(
        A: T.Tensor((64, K), "float16"),
        B: T.Tensor((K, 64), "float16"),
        C: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(1, threads=128) as bx:
            A_tile = alloc[A_scope]((64, K), "float16")
            B_tile = alloc[B_scope]((K, 64), "float16")
            C_local = T.alloc_fragment((64, 64), "float32")
            T.copy(A, A_tile)
            T.copy(B, B_tile)
            T.fill(C_local, start)
            T.gemm(A_tile, B_tile, C_local, clear_accum=clear_accum)
            T.copy(C_local, C)

    return product


@tile2triton.kernel(out_idx=[-1])
def delayed_sum(steps, width, num_stages):
    """Each step adds what the step before it has copied."""

    @T.prim_func
    def delayed(A: T.Tensor((steps, width), "float32"), B: T.Tensor((width,), "float32")):
        with T.Kernel(1, threads=32) as bx:
            S = T.alloc_shared((width,), "float32")
            acc = T.alloc_fragment((width,), "float32")
            T.fill(S, 100.0)
            T.clear(acc)
            for k in T.Pipelined(steps, num_stages=num_stages):
                for i in T.Parallel(width):
                    acc[i] += S[i]
                T.copy(A[k, :], S)
            T.copy(acc, B)

    return delayed
