"""Softmax over the rows of a matrix: with a whole row on chip, and online over column tiles."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def softmax(X, block_M=1, threads=256, dtype=T.float16):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), dtype)
    Y = T.empty((M, N), dtype)

    with T.Kernel(T.ceildiv(M, block_M), threads=threads) as bx:
        x = T.alloc_fragment((block_M, N), T.float32)
        row_max = T.alloc_fragment((block_M,), T.float32)
        row_sum = T.alloc_fragment((block_M,), T.float32)

        T.copy(X[bx * block_M, 0], x)
        T.reduce_max(x, row_max, dim=1)
        for i, j in T.Parallel(block_M, N):
            x[i, j] = T.exp(x[i, j] - row_max[i])
        T.reduce_sum(x, row_sum, dim=1)
        for i, j in T.Parallel(block_M, N):
            x[i, j] = x[i, j] / row_sum[i]
        T.copy(x, Y[bx * block_M, 0])

    return Y


@tile2triton.kernel(out_idx=[1])
def softmax_online(M, N, block_M=1, block_N=4096, threads=256, dtype=T.float16):
    @T.prim_func
    def online_softmax(X: T.Tensor((M, N), dtype), Y: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(M, block_M), threads=threads) as bx:
            x = T.alloc_fragment((block_M, block_N), T.float32)
            row_max = T.alloc_fragment((block_M,), T.float32)
            row_max_prev = T.alloc_fragment((block_M,), T.float32)
            row_sum = T.alloc_fragment((block_M,), T.float32)
            tile_sum = T.alloc_fragment((block_M,), T.float32)

            T.fill(row_max, -T.infinity(T.float32))
            T.clear(row_sum)
            for k in T.serial(T.ceildiv(N, block_N)):
                # A column past the end takes no part in the maximum and adds nothing to the sum.
                for i, j in T.Parallel(block_M, block_N):
                    x[i, j] = T.if_then_else(
                        k * block_N + j < N,
                        X[bx * block_M + i, k * block_N + j],
                        -T.infinity(T.float32),
                    )
                T.copy(row_max, row_max_prev)
                T.reduce_max(x, row_max, dim=1, clear=False)
                for i, j in T.Parallel(block_M, block_N):
                    x[i, j] = T.exp(x[i, j] - row_max[i])
                T.reduce_sum(x, tile_sum, dim=1)
                for i in T.Parallel(block_M):
                    row_sum[i] = row_sum[i] * T.exp(row_max_prev[i] - row_max[i]) + tile_sum[i]

            for k in T.serial(T.ceildiv(N, block_N)):
                T.copy(X[bx * block_M, k * block_N], x)
                for i, j in T.Parallel(block_M, block_N):
                    x[i, j] = T.exp(x[i, j] - row_max[i]) / row_sum[i]
                T.copy(x, Y[bx * block_M, k * block_N])

    return online_softmax
