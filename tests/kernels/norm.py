"""RMS norm and layer norm over the rows of a matrix."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def rms_norm(X, W, eps=1e-6, block_M=1, threads=256, dtype=T.float16):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), dtype)
    W: T.Tensor((N,), dtype)
    Y = T.empty((M, N), dtype)

    with T.Kernel(T.ceildiv(M, block_M), threads=threads) as bx:
        x = T.alloc_fragment((block_M, N), T.float32)
        squares = T.alloc_fragment((block_M, N), T.float32)
        mean_square = T.alloc_fragment((block_M,), T.float32)

        T.copy(X[bx * block_M, 0], x)
        for i, j in T.Parallel(block_M, N):
            squares[i, j] = x[i, j] * x[i, j]
        T.reduce_sum(squares, mean_square, dim=1)
        for i in T.Parallel(block_M):
            mean_square[i] = mean_square[i] / N
        for i, j in T.Parallel(block_M, N):
            x[i, j] = x[i, j] * T.rsqrt(mean_square[i] + eps) * W[j]
        T.copy(x, Y[bx * block_M, 0])

    return Y


@tile2triton.kernel
def layer_norm(X, W, bias, eps=1e-5, block_M=1, threads=256, dtype=T.float16):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), dtype)
    W: T.Tensor((N,), dtype)
    bias: T.Tensor((N,), dtype)
    Y = T.empty((M, N), dtype)

    with T.Kernel(T.ceildiv(M, block_M), threads=threads) as bx:
        x = T.alloc_fragment((block_M, N), T.float32)
        squares = T.alloc_fragment((block_M, N), T.float32)
        mean = T.alloc_fragment((block_M,), T.float32)
        variance = T.alloc_fragment((block_M,), T.float32)

        T.copy(X[bx * block_M, 0], x)
        T.reduce_sum(x, mean, dim=1)
        # The mean is taken off first: E[x^2] - E[x]^2 would cancel where the mean is large.
        for i, j in T.Parallel(block_M, N):
            x[i, j] = x[i, j] - mean[i] / N
            squares[i, j] = x[i, j] * x[i, j]
        T.reduce_sum(squares, variance, dim=1)
        for i, j in T.Parallel(block_M, N):
            x[i, j] = x[i, j] * T.rsqrt(variance[i] / N + eps) * W[j] + bias[j]
        T.copy(x, Y[bx * block_M, 0])

    return Y
