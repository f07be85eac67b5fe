"""Retention, forward: o_t = q_t Σ_{s ≤ t} γ^(t - s) k_sᵀ v_s for each head's γ, by chunks."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def retention(
    Q, K, V, log2_decay, chunk=64, block_V=64, num_stages=2, threads=128, dtype=T.float16
):
    batch, seq_len, heads, dim_K, dim_V = T.const("batch, seq_len, heads, dim_K, dim_V")
    Q: T.Tensor((batch, seq_len, heads, dim_K), dtype)
    K: T.Tensor((batch, seq_len, heads, dim_K), dtype)
    V: T.Tensor((batch, seq_len, heads, dim_V), dtype)
    log2_decay: T.Tensor((heads,), T.float32)
    O = T.empty((batch, seq_len, heads, dim_V), dtype)

    with T.Kernel(T.ceildiv(dim_V, block_V), heads, batch, threads=threads) as (bx, by, bz):
        i, j = T.arange(chunk)[:, None], T.arange(chunk)[None, :]
        rate = log2_decay[by]
        state = T.zeros((dim_K, block_V))
        for c in T.Pipelined(T.ceildiv(seq_len, chunk), num_stages=num_stages):
            q = T.copy(Q[bz, c * chunk : (c + 1) * chunk, by, :])
            k = T.copy(K[bz, c * chunk : (c + 1) * chunk, by, :])
            v = T.copy(V[bz, c * chunk : (c + 1) * chunk, by, bx * block_V : (bx + 1) * block_V])

            # What was before the chunk has decayed by one more step for each token.
            o = T.gemm(q, T.cast(state, dtype))
            o *= T.exp2(rate * (i + 1))
            scores = T.gemm(q, k, transpose_B=True)
            weights = T.cast(T.where(j <= i, scores * T.exp2(rate * (i - j)), 0), dtype)
            T.gemm(weights, v, o)

            decayed = T.cast(v * T.exp2(rate * (chunk - 1 - i)), dtype)
            state *= T.exp2(rate * chunk)
            T.gemm(k, decayed, state, transpose_A=True)
            T.copy(o, O[bz, c * chunk : (c + 1) * chunk, by, bx * block_V : (bx + 1) * block_V])

    return O
