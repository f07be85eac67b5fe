"""Latent attention of one token: all heads share one key, whose first part is the value, too."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def latent_attention(
    Q,
    Q_rope,
    KV,
    K_rope,
    dim=512,
    dim_rope=64,
    block_H=64,
    block_N=64,
    num_stages=2,
    threads=256,
    dtype=T.float16,
):
    """T.split shares the keys out, where few tokens leave most of the chip idle."""
    batch, heads, kv_len = T.const("batch, heads, kv_len")
    Q: T.Tensor((batch, heads, dim), dtype)
    Q_rope: T.Tensor((batch, heads, dim_rope), dtype)
    KV: T.Tensor((batch, kv_len, dim), dtype)
    K_rope: T.Tensor((batch, kv_len, dim_rope), dtype)
    O = T.empty((batch, heads, dim), dtype)

    # With log2(e) folded into the scale, exp2 computes exp.
    scale = (dim + dim_rope) ** -0.5 * 1.4426950408889634
    columns = T.GemmWarpPolicy.FullCol
    with T.Kernel(T.ceildiv(heads, block_H), batch, threads=threads) as (h, b):
        q = T.copy(Q[b, h * block_H : (h + 1) * block_H, :])
        q_rope = T.copy(Q_rope[b, h * block_H : (h + 1) * block_H, :])
        acc, row_sum = T.zeros((block_H, dim)), T.zeros((block_H,))
        row_max = T.full((block_H,), -1e30)
        for n in T.Pipelined(T.ceildiv(kv_len, block_N), num_stages=num_stages):
            kv = T.copy(KV[b, n * block_N : (n + 1) * block_N, :])
            k_rope = T.copy(K_rope[b, n * block_N : (n + 1) * block_N, :])
            scores = T.gemm(q, kv, transpose_B=True, policy=columns)
            T.gemm(q_rope, k_rope, scores, transpose_B=True, policy=columns)
            seen = n * block_N + T.arange(block_N)[None, :] < kv_len
            scores[...] = T.where(seen, scores * scale, -T.infinity(T.float32))
            new_max = T.max(row_max, T.reduce_max(scores, dim=1))
            rescale = T.exp2(row_max - new_max)
            row_sum *= rescale
            T.copy(new_max, row_max)
            scores[...] = T.exp2(scores - row_max[:, None])
            T.reduce_sum(scores, row_sum, dim=1, clear=False)
            acc *= rescale[:, None]
            T.gemm(T.cast(scores, dtype), kv, acc, policy=columns)
        acc /= row_sum[:, None]
        T.copy(acc, O[b, h * block_H : (h + 1) * block_H, :])

    return O
