"""Kinds of attention that models have, each in the few lines that say what it computes."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def biased_attention(Q, K, V, bias):
    S = T.gemm(Q, K, transpose_B=True) * Q.shape[-1] ** -0.5 + bias
    return T.gemm(T.softmax(S), V)


@tile2triton.kernel
def alibi_attention(Q, K, V, slopes):
    S = T.gemm(Q, K, transpose_B=True) * Q.shape[-1] ** -0.5
    i, j = T.arange(S.shape[-2])[:, None], T.arange(S.shape[-1])
    P = T.softmax(S + slopes[:, None, None] * (j - i), mask=T.causal)
    return T.gemm(P, V)


@tile2triton.kernel
def sliding_window_attention(Q, K, V, width):
    S = T.gemm(Q, K, transpose_B=True)
    i, j = T.arange(S.shape[-2])[:, None], T.arange(S.shape[-1])
    P = T.softmax(S, scale=Q.shape[-1] ** -0.5, mask=(j <= i) & (j > i - width))
    return T.gemm(P, V)


@tile2triton.kernel
def capped_attention(Q, K, V, cap):
    S = T.gemm(Q, K, transpose_B=True) * Q.shape[-1] ** -0.5
    P = T.softmax(T.tanh(S / cap) * cap)
    return T.gemm(P, V)


@tile2triton.kernel
def attention_with_sinks(Q, K, V, sinks):
    """Each head has one more logit, which takes weight and has no value."""
    S = T.gemm(Q, K, transpose_B=True) * Q.shape[-1] ** -0.5
    peak = T.maximum(T.amax(S, axis=-1, keepdims=True), sinks[:, None, None])
    weights = T.exp(S - peak)
    total = T.sum(weights, axis=-1, keepdims=True) + T.exp(sinks[:, None, None] - peak)
    return T.gemm(weights / total, V)


@tile2triton.kernel
def prefix_attention(Q, K, V, prefix):
    """Every token sees the first ones, whose number is given for each sequence."""
    S = T.gemm(Q, K, transpose_B=True)
    i, j = T.arange(S.shape[-2])[:, None], T.arange(S.shape[-1])
    seen = (j <= i) | (j < prefix[:, None, None, None])
    return T.gemm(T.softmax(S, scale=Q.shape[-1] ** -0.5, mask=seen), V)


@tile2triton.kernel
def attention_with_lse(Q, K, V):
    S = T.gemm(Q, K, transpose_B=True) * Q.shape[-1] ** -0.5
    O = T.gemm(T.softmax(S, mask=None), V)
    lse = T.log_sum_exp(S, axis=-1)
    return O, lse


@tile2triton.kernel
def cross_attention(Q, K, V, mask):
    S = T.gemm(Q, K, transpose_B=True)
    P = T.softmax(S, scale=Q.shape[-1] ** -0.5, mask=mask[:, None, None, :])
    return T.gemm(P, V)
