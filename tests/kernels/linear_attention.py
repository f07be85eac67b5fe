"""Causal linear attention, forward: o_t = q_t Σ_{s ≤ t} k_sᵀ v_s, with a state kept over chunks."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def linear_attention(Q, K, V, chunk=64, block_V=64, num_stages=2, threads=128, dtype=T.float16):
    batch, seq_len, heads, dim_K, dim_V = T.const("batch, seq_len, heads, dim_K, dim_V")
    Q: T.Tensor((batch, seq_len, heads, dim_K), dtype)
    K: T.Tensor((batch, seq_len, heads, dim_K), dtype)
    V: T.Tensor((batch, seq_len, heads, dim_V), dtype)
    O = T.empty((batch, seq_len, heads, dim_V), dtype)

    # The columns of the state do not depend on each other, so programs share them out.
    with T.Kernel(T.ceildiv(dim_V, block_V), heads, batch, threads=threads) as (bx, by, bz):
        q = T.alloc_shared((chunk, dim_K), dtype)
        k = T.alloc_shared((chunk, dim_K), dtype)
        v = T.alloc_shared((chunk, block_V), dtype)
        scores = T.alloc_fragment((chunk, chunk), T.float32)
        weights = T.alloc_fragment((chunk, chunk), dtype)
        state = T.alloc_fragment((dim_K, block_V), T.float32)
        state_cast = T.alloc_shared((dim_K, block_V), dtype)
        o = T.alloc_fragment((chunk, block_V), T.float32)

        T.clear(state)
        for c in T.Pipelined(T.ceildiv(seq_len, chunk), num_stages=num_stages):
            # Rows past the end are zero: they neither see nor change the state.
            T.copy(Q[bz, c * chunk : (c + 1) * chunk, by, :], q)
            T.copy(K[bz, c * chunk : (c + 1) * chunk, by, :], k)
            T.copy(V[bz, c * chunk : (c + 1) * chunk, by, bx * block_V : (bx + 1) * block_V], v)

            # What the chunk sees of itself, then of all chunks before it.
            T.gemm(q, k, scores, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(chunk, chunk):
                weights[i, j] = T.if_then_else(j <= i, scores[i, j], 0)
            T.gemm(weights, v, o, clear_accum=True)
            T.copy(state, state_cast)
            T.gemm(q, state_cast, o)

            T.gemm(k, v, state, transpose_A=True)
            T.copy(o, O[bz, c * chunk : (c + 1) * chunk, by, bx * block_V : (bx + 1) * block_V])

    return O
