"""What models do with tokens: embed, rotate, pool, choose, route."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def embedding(table, tokens, scale):
    return table[tokens] * scale


@tile2triton.kernel
def rotary(X, cos, sin):
    half = X.shape[-1] // 2
    a, b = X[..., :half], X[..., half:]
    return T.concat((a * cos - b * sin, b * cos + a * sin), axis=-1)


@tile2triton.kernel
def mean_pool(X, mask):
    weight = T.cast(mask, "float32")
    total = T.sum(X * weight[:, :, None], axis=1)
    return total / T.maximum(T.sum(weight, axis=1, keepdims=True), 1)


@tile2triton.kernel
def top_k(X, k):
    return T.topk(X, k)


@tile2triton.kernel
def moe_gate(logits, k):
    weights, experts = T.topk(T.softmax(logits), k)
    return weights / T.sum(weights, axis=-1, keepdims=True), experts


@tile2triton.kernel
def greedy(logits):
    return T.argmax(logits)


@tile2triton.kernel
def max_pool(X):
    B, C, H, W = X.shape
    windows = T.reshape(X, (B, C, H // 2, 2, W // 2, 2))
    return T.amax(windows, axis=(3, 5))
