"""Norms, softmaxes, losses and other work on rows."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def cross_entropy(logits, target):
    rows = T.arange(logits.shape[0])
    return T.log_sum_exp(logits) - logits[rows, target]


@tile2triton.kernel
def log_softmax(X):
    return T.log_softmax(X)


@tile2triton.kernel
def rms_norm_residual(X, residual, weight):
    summed = X + residual
    return T.rms_norm(summed, weight), summed


@tile2triton.kernel
def layer_norm(X, weight, bias):
    return T.layer_norm(X, weight, bias)


@tile2triton.kernel
def group_norm(X, weight, bias, groups):
    B, C, N = X.shape
    grouped = T.reshape(X, (B, groups, C // groups, N))
    normed = T.reshape(T.layer_norm(grouped, axis=(-2, -1)), (B, C, N))
    return normed * weight[:, None] + bias[:, None]


@tile2triton.kernel
def cosine_rows(X, Y):
    dot = T.sum(X * Y, axis=-1)
    return dot / T.sqrt(T.sum(X * X, axis=-1) * T.sum(Y * Y, axis=-1))


@tile2triton.kernel
def l2_normalize(X):
    return X / T.maximum(T.sqrt(T.sum(X**2, axis=-1, keepdims=True)), 1e-12)


@tile2triton.kernel
def quantize_rows(X):
    scale = T.amax(abs(X), axis=-1, keepdims=True) / 127
    return T.cast(T.nearbyint(X / scale), "int8"), scale[:, 0]


@tile2triton.kernel
def kl_divergence(P, Q):
    p, q = T.log_softmax(P), T.log_softmax(Q)
    return T.sum(T.exp(p) * (p - q), axis=-1)


@tile2triton.kernel
def softmax_over_heads(X):
    return T.softmax(X, axis=1)


@tile2triton.kernel
def column_sums(X):
    return T.sum(X, axis=0)


@tile2triton.kernel
def moments(X):
    return T.mean(X, axis=-1), T.var(X, axis=-1)


@tile2triton.kernel
def rms_norm(X, weight):
    return T.rms_norm(X, weight)


@tile2triton.kernel
def bias_gelu(X, bias):
    return T.gelu(X + bias)


@tile2triton.kernel
def row_sum(X):
    return T.sum(T.cast(X, "float32"), axis=-1)


@tile2triton.kernel
def full_sum(X):
    return T.sum(T.cast(X, "float32"))
