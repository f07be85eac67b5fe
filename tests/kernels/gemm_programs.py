"""Matrix products with what models put before and behind them."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def swiglu(X, W, V):
    return T.silu(X @ W) * (X @ V)


@tile2triton.kernel
def geglu(X, W, V, b, c):
    gate = T.gelu(X @ W + b, approximate="tanh")
    return gate * (X @ V + c)


@tile2triton.kernel
def linear_gelu(X, W, b):
    return T.gelu(T.gemm(X, W, transpose_B=True) + b)


@tile2triton.kernel
def scaled_batches(A, B, alpha, residual):
    C = T.gemm(A, B, transpose_B=False)
    return alpha[:, None, None] * C + residual


@tile2triton.kernel
def residual_block(X, W, b):
    return X + T.relu(T.gemm(X, W, transpose_B=False) + b)


@tile2triton.kernel
def norm_linear(X, weight, W):
    """The norm of the rows goes through the product: one loop reads X once."""
    return T.gemm(T.rms_norm(X, weight), W, transpose_B=True)


@tile2triton.kernel
def cosine_pairs(X, Y):
    a = T.sqrt(T.sum(X * X, axis=-1, keepdims=True))
    b = T.sqrt(T.sum(Y * Y, axis=-1))
    return T.gemm(X, Y, transpose_B=True) / (a * b)


@tile2triton.kernel
def squared_distances(X, Y):
    x = T.sum(X * X, axis=-1, keepdims=True)
    y = T.sum(Y * Y, axis=-1)
    return T.max(x + y - 2 * T.gemm(X, Y, transpose_B=True), 0)
