"""Sums: of each row, and of everything, which takes a second kernel for the programs' parts."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def row_sum(X, block_M=1, threads=256, dtype=T.float16):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), dtype)
    sums = T.empty((M,), T.float32)

    with T.Kernel(T.ceildiv(M, block_M), threads=threads) as bx:
        x = T.alloc_fragment((block_M, N), T.float32)
        total = T.alloc_fragment((block_M,), T.float32)
        T.copy(X[bx * block_M, 0], x)
        T.reduce_sum(x, total, dim=1)
        T.copy(total, sums[bx * block_M])

    return sums


@tile2triton.kernel
def full_sum(X, programs=512, block=8192, num_stages=2, threads=256, dtype=T.float16):
    """The same bits each time: the order of the sum does not depend on who is first."""
    N = T.const("N")
    X: T.Tensor((N,), dtype)
    total = T.empty((1,), T.float32)
    parts = T.alloc_global((programs,), T.float32)

    with T.Kernel(programs, threads=threads) as bx:
        x = T.alloc_fragment((block,), T.float32)
        sums = T.alloc_fragment((block,), T.float32)
        part = T.alloc_fragment((1,), T.float32)
        T.clear(sums)
        for k in T.Pipelined(T.ceildiv(N, programs * block), num_stages=num_stages):
            T.copy(X[(k * programs + bx) * block], x)
            for i in T.Parallel(block):
                sums[i] += x[i]
        T.reduce_sum(sums, part, dim=0)
        T.copy(part, parts[bx])

    with T.Kernel(1, threads=threads):
        x = T.alloc_fragment((programs,), T.float32)
        whole = T.alloc_fragment((1,), T.float32)
        T.copy(parts[0], x)
        T.reduce_sum(x, whole, dim=0)
        T.copy(whole, total[0])

    return total


@tile2triton.kernel
def copy(X, block_M=4, block_N=1024, threads=128, dtype=T.float16):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), dtype)
    Y = T.empty((M, N), dtype)
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
        tile = T.alloc_fragment((block_M, block_N), dtype)
        T.copy(X[by * block_M, bx * block_N], tile)
        T.copy(tile, Y[by * block_M, bx * block_N])
    return Y
