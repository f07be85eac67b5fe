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
        q = T.alloc_shared((chunk, dim_K), dtype)
        k = T.alloc_shared((chunk, dim_K), dtype)
        v = T.alloc_shared((chunk, block_V), dtype)
        scores = T.alloc_fragment((chunk, chunk), T.float32)
        weights = T.alloc_fragment((chunk, chunk), dtype)
        decayed = T.alloc_fragment((chunk, block_V), dtype)
        state = T.alloc_fragment((dim_K, block_V), T.float32)
        state_cast = T.alloc_shared((dim_K, block_V), dtype)
        o = T.alloc_fragment((chunk, block_V), T.float32)

        rate = log2_decay[by]
        T.clear(state)
        for c in T.Pipelined(T.ceildiv(seq_len, chunk), num_stages=num_stages):
            T.copy(Q[bz, c * chunk : (c + 1) * chunk, by, :], q)
            T.copy(K[bz, c * chunk : (c + 1) * chunk, by, :], k)
            T.copy(V[bz, c * chunk : (c + 1) * chunk, by, bx * block_V : (bx + 1) * block_V], v)

            # What was before the chunk has decayed by one more step for each token.
            T.copy(state, state_cast)
            T.gemm(q, state_cast, o, clear_accum=True)
            for i, j in T.Parallel(chunk, block_V):
                o[i, j] *= T.exp2(rate * (i + 1))
            T.gemm(q, k, scores, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(chunk, chunk):
                weights[i, j] = T.if_then_else(j <= i, scores[i, j] * T.exp2(rate * (i - j)), 0)
            T.gemm(weights, v, o)

            for i, j in T.Parallel(chunk, block_V):
                decayed[i, j] = v[i, j] * T.exp2(rate * (chunk - 1 - i))
            for i, j in T.Parallel(dim_K, block_V):
                state[i, j] *= T.exp2(rate * chunk)
            T.gemm(k, decayed, state, transpose_A=True)
            T.copy(o, O[bz, c * chunk : (c + 1) * chunk, by, bx * block_V : (bx + 1) * block_V])

    return O
