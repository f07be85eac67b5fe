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
        q = T.alloc_shared((block_H, dim), dtype)
        q_rope = T.alloc_shared((block_H, dim_rope), dtype)
        kv = T.alloc_shared((block_N, dim), dtype)
        k_rope = T.alloc_shared((block_N, dim_rope), dtype)
        scores = T.alloc_fragment((block_H, block_N), T.float32)
        weights = T.alloc_shared((block_H, block_N), dtype)
        acc = T.alloc_fragment((block_H, dim), T.float32)
        row_max = T.alloc_fragment((block_H,), T.float32)
        new_max = T.alloc_fragment((block_H,), T.float32)
        row_sum = T.alloc_fragment((block_H,), T.float32)
        rescale = T.alloc_fragment((block_H,), T.float32)

        T.copy(Q[b, h * block_H : (h + 1) * block_H, :], q)
        T.copy(Q_rope[b, h * block_H : (h + 1) * block_H, :], q_rope)
        T.clear(acc)
        T.clear(row_sum)
        T.fill(row_max, -1e30)
        for n in T.Pipelined(T.ceildiv(kv_len, block_N), num_stages=num_stages):
            T.copy(KV[b, n * block_N : (n + 1) * block_N, :], kv)
            T.copy(K_rope[b, n * block_N : (n + 1) * block_N, :], k_rope)
            T.gemm(q, kv, scores, transpose_B=True, policy=columns, clear_accum=True)
            T.gemm(q_rope, k_rope, scores, transpose_B=True, policy=columns)
            for i, j in T.Parallel(block_H, block_N):
                seen = n * block_N + j < kv_len
                scores[i, j] = T.if_then_else(seen, scores[i, j] * scale, -T.infinity(T.float32))
            T.reduce_max(scores, new_max, dim=1)
            for i in T.Parallel(block_H):
                new_max[i] = T.max(row_max[i], new_max[i])
                rescale[i] = T.exp2(row_max[i] - new_max[i])
                row_sum[i] *= rescale[i]
                row_max[i] = new_max[i]
            for i, j in T.Parallel(block_H, block_N):
                scores[i, j] = T.exp2(scores[i, j] - row_max[i])
            T.reduce_sum(scores, row_sum, dim=1, clear=False)
            for i, j in T.Parallel(block_H, dim):
                acc[i, j] *= rescale[i]
            T.copy(scores, weights)
            T.gemm(weights, kv, acc, policy=columns)
        for i, j in T.Parallel(block_H, dim):
            acc[i, j] /= row_sum[i]
        T.copy(acc, O[b, h * block_H : (h + 1) * block_H, :])

    return O
