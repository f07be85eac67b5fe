"""The k largest of each row and where they were: as many turns, each of which takes one away."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def top_k(X, k=8, block_M=32, threads=128, dtype=T.float32):
    """In falling order; of equal numbers, the first one comes first. Rows are of finite numbers."""
    M, N = T.const("M, N")
    X: T.Tensor((M, N), dtype)
    values = T.empty((M, k), dtype)
    columns = T.empty((M, k), T.int32)

    with T.Kernel(T.ceildiv(M, block_M), threads=threads) as bx:
        x = T.alloc_fragment((block_M, N), dtype)
        candidates = T.alloc_fragment((block_M, N), T.int32)
        largest = T.alloc_fragment((block_M,), dtype)
        column = T.alloc_fragment((block_M,), T.int32)

        T.copy(X[bx * block_M, 0], x)
        for n in T.serial(k):
            T.reduce_max(x, largest, dim=1)
            for i, j in T.Parallel(block_M, N):
                candidates[i, j] = T.if_then_else(x[i, j] == largest[i], j, N - 1)
            T.reduce_min(candidates, column, dim=1)
            for i, j in T.Parallel(block_M, N):
                x[i, j] = T.if_then_else(j == column[i], -T.infinity(dtype), x[i, j])
            for i in T.Parallel(block_M):
                values[bx * block_M + i, n] = largest[i]
                columns[bx * block_M + i, n] = column[i]

    return values, columns
