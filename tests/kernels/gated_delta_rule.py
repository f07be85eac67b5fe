"""The gated delta rule, forward: S_t = γ_t S_{t-1} + k_tᵀ u_t, u_t = β_t (v_t - γ_t k_t S_{t-1}).

Within a chunk, the u_t solve a triangular system: (1 + A) U = diag(β) (V - diag(Γ) K S) for the
state S before the chunk, with Γ_i for the product of the chunk's decays up to i, and A, which is
zero from the diagonal on, of β_i Γ_i / Γ_j k_i k_jᵀ. The inverse of 1 + A serves both terms, and no
state is needed for it: all chunks are solved at once.
"""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def gated_delta_rule(
    Q, K, V, log2_decay, beta, chunk=64, block_V=64, num_stages=2, threads=128, dtype=T.float16
):
    """o_t = q_t S_t; β and the logarithms of γ are numbers of each token and head."""
    batch, seq_len, heads, dim_K, dim_V = T.const("batch, seq_len, heads, dim_K, dim_V")
    Q: T.Tensor((batch, seq_len, heads, dim_K), dtype)
    K: T.Tensor((batch, seq_len, heads, dim_K), dtype)
    V: T.Tensor((batch, seq_len, heads, dim_V), dtype)
    log2_decay: T.Tensor((batch, seq_len, heads), T.float32)
    beta: T.Tensor((batch, seq_len, heads), T.float32)
    O = T.empty((batch, seq_len, heads, dim_V), dtype)
    W = T.alloc_global((batch, seq_len, heads, dim_K), dtype)
    U = T.alloc_global((batch, seq_len, heads, dim_V), dtype)
    sums = T.alloc_global((batch, heads, seq_len), T.float32)

    with T.Kernel(T.ceildiv(seq_len, chunk), heads, batch, threads=threads) as (c, h, b):
        k = T.alloc_shared((chunk, dim_K), dtype)
        v = T.alloc_shared((chunk, dim_V), dtype)
        decay = T.alloc_shared((chunk,), T.float32)
        factor = T.alloc_shared((chunk,), T.float32)
        products = T.alloc_fragment((chunk, chunk), T.float32)
        A = T.alloc_shared((chunk, chunk), T.float32)
        between = T.alloc_shared((chunk, chunk), T.float32)
        inverse = T.alloc_fragment((chunk, chunk), T.float32)
        inverse_shared = T.alloc_shared((chunk, chunk), T.float32)
        product = T.alloc_fragment((chunk, chunk), T.float32)
        product_shared = T.alloc_shared((chunk, chunk), T.float32)
        scaled = T.alloc_shared((chunk, chunk), dtype)
        w = T.alloc_fragment((chunk, dim_K), T.float32)
        u = T.alloc_fragment((chunk, dim_V), T.float32)

        T.copy(log2_decay[b, c * chunk : (c + 1) * chunk, h], decay)
        T.copy(beta[b, c * chunk : (c + 1) * chunk, h], factor)
        T.copy(K[b, c * chunk : (c + 1) * chunk, h, :], k)
        T.copy(V[b, c * chunk : (c + 1) * chunk, h, :], v)
        T.cumsum(decay)
        T.copy(decay, sums[b, h, c * chunk : (c + 1) * chunk])
        T.gemm(k, k, products, transpose_B=True, clear_accum=True)
        for i, j in T.Parallel(chunk, chunk):
            both = products[i, j] * factor[i] * T.exp2(decay[i] - decay[j])
            A[i, j] = T.if_then_else(j < i, both, 0)

        # From the inverses of blocks on the diagonal, those of blocks twice as large.
        for i, j in T.Parallel(chunk, chunk):
            inverse[i, j] = T.if_then_else(i == j, 1, T.if_then_else(i ^ j == 1, -A[i, j], 0))
        for level in T.serial(1, chunk.bit_length() - 1):
            for i, j in T.Parallel(chunk, chunk):
                between[i, j] = T.if_then_else((i ^ j) >> level == 1, -A[i, j], 0)
            T.copy(inverse, inverse_shared)
            T.gemm(between, inverse_shared, product, clear_accum=True)
            T.copy(product, product_shared)
            T.gemm(inverse_shared, product_shared, inverse)

        for i, j in T.Parallel(chunk, chunk):
            scaled[i, j] = inverse[i, j] * factor[j]
        T.gemm(scaled, v, u, clear_accum=True)
        T.copy(u, U[b, c * chunk : (c + 1) * chunk, h, :])
        for i, j in T.Parallel(chunk, chunk):
            scaled[i, j] = inverse[i, j] * factor[j] * T.exp2(decay[j])
        T.gemm(scaled, k, w, clear_accum=True)
        T.copy(w, W[b, c * chunk : (c + 1) * chunk, h, :])

    # One chunk after the other, with the state on chip. Its columns do not depend on each other.
    with T.Kernel(T.ceildiv(dim_V, block_V), heads, batch, threads=threads) as (n, h, b):
        q = T.alloc_shared((chunk, dim_K), dtype)
        k = T.alloc_shared((chunk, dim_K), dtype)
        w = T.alloc_shared((chunk, dim_K), dtype)
        u = T.alloc_shared((chunk, block_V), dtype)
        decay = T.alloc_shared((chunk,), T.float32)
        state = T.alloc_fragment((dim_K, block_V), T.float32)
        state_shared = T.alloc_shared((dim_K, block_V), dtype)
        known = T.alloc_fragment((chunk, block_V), T.float32)
        added = T.alloc_shared((chunk, block_V), dtype)
        left = T.alloc_shared((chunk, block_V), dtype)
        scores = T.alloc_fragment((chunk, chunk), T.float32)
        weights = T.alloc_shared((chunk, chunk), dtype)
        o = T.alloc_fragment((chunk, block_V), T.float32)

        T.clear(state)
        for c in T.Pipelined(T.ceildiv(seq_len, chunk), num_stages=num_stages):
            T.copy(W[b, c * chunk : (c + 1) * chunk, h, :], w)
            T.copy(U[b, c * chunk : (c + 1) * chunk, h, n * block_V : (n + 1) * block_V], u)
            T.copy(Q[b, c * chunk : (c + 1) * chunk, h, :], q)
            T.copy(K[b, c * chunk : (c + 1) * chunk, h, :], k)
            T.copy(sums[b, h, c * chunk : (c + 1) * chunk], decay)
            whole = sums[b, h, T.min((c + 1) * chunk, seq_len) - 1]

            # What each token adds, less what the state had for its key already.
            T.copy(state, state_shared)
            T.gemm(w, state_shared, known, clear_accum=True)
            for i, j in T.Parallel(chunk, block_V):
                added[i, j] = u[i, j] - known[i, j]

            T.gemm(q, state_shared, o, clear_accum=True)
            for i, j in T.Parallel(chunk, block_V):
                o[i, j] *= T.exp2(decay[i])
            T.gemm(q, k, scores, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(chunk, chunk):
                seen = scores[i, j] * T.exp2(decay[i] - decay[j])
                weights[i, j] = T.if_then_else(j <= i, seen, 0)
            T.gemm(weights, added, o)
            T.copy(o, O[b, c * chunk : (c + 1) * chunk, h, n * block_V : (n + 1) * block_V])

            for i, j in T.Parallel(chunk, block_V):
                left[i, j] = added[i, j] * T.exp2(whole - decay[i])
            for i, j in T.Parallel(dim_K, block_V):
                state[i, j] *= T.exp2(whole)
            T.gemm(k, left, state, transpose_A=True)

    return O
