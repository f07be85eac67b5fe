"""Element-wise kernels: a 1-D sum of any length, a broadcast of rows and columns, bias and GELU."""

import math

import tile2triton
import tile2triton.language as T


@tile2triton.kernel(out_idx=[2])
def add(block=1024, threads=128, dtype=T.float32):
    # A dynamic size is an argument of the Triton kernel: one compilation serves every length.
    n = T.dynamic("n")

    @T.prim_func
    def vector_add(A: T.Tensor((n,), dtype), B: T.Tensor((n,), dtype), C: T.Tensor((n,), dtype)):
        with T.Kernel(T.ceildiv(n, block), threads=threads) as bx:
            for i in T.Parallel(block):
                C[bx * block + i] = A[bx * block + i] + B[bx * block + i]

    return vector_add


@tile2triton.kernel
def add_broadcast(A, row, column, block_M=32, block_N=128, threads=128, dtype=T.float32):
    """A[i, j] + row[j] + column[i]."""
    M, N = T.const("M, N")
    A: T.Tensor((M, N), dtype)
    row: T.Tensor((N,), dtype)
    column: T.Tensor((M,), dtype)
    C = T.empty((M, N), dtype)

    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
        tile = T.alloc_fragment((block_M, block_N), dtype)
        row_tile = T.alloc_fragment((block_N,), dtype)
        column_tile = T.alloc_fragment((block_M,), dtype)

        T.copy(A[by * block_M, bx * block_N], tile)
        T.copy(row[bx * block_N], row_tile)
        T.copy(column[by * block_M], column_tile)
        for i, j in T.Parallel(block_M, block_N):
            tile[i, j] = tile[i, j] + row_tile[j] + column_tile[i]
        T.copy(tile, C[by * block_M, bx * block_N])

    return C


def gelu(x):
    return 0.5 * x * (1.0 + T.erf(x * math.sqrt(0.5)))


@tile2triton.kernel
def bias_gelu(X, bias, block_M=4, block_N=1024, threads=256, dtype=T.float16):
    """x Φ(x) with x = X + bias and Φ the normal distribution, in fp32 whatever the dtype."""
    M, N = T.const("M, N")
    X: T.Tensor((M, N), dtype)
    bias: T.Tensor((N,), dtype)
    Y = T.empty((M, N), dtype)

    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
        for i, j in T.Parallel(block_M, block_N):
            row = by * block_M + i
            column = bx * block_N + j
            x = T.cast(X[row, column], T.float32) + bias[column]
            Y[row, column] = gelu(x)

    return Y
