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

    i, j = T.arange(chunk)[:, None], T.arange(chunk)[None, :]
    with T.Kernel(T.ceildiv(seq_len, chunk), heads, batch, threads=threads) as (c, h, b):
        decay = T.copy(log2_decay[b, c * chunk : (c + 1) * chunk, h])
        factor = T.copy(beta[b, c * chunk : (c + 1) * chunk, h])
        k = T.copy(K[b, c * chunk : (c + 1) * chunk, h, :])
        v = T.copy(V[b, c * chunk : (c + 1) * chunk, h, :])
        T.cumsum(decay)
        T.copy(decay, sums[b, h, c * chunk : (c + 1) * chunk])
        products = T.gemm(k, k, transpose_B=True)
        both = products * factor[:, None] * T.exp2(decay[:, None] - decay[None, :])
        A = T.where(j < i, both, 0)

        # From the inverses of blocks on the diagonal, those of blocks twice as large.
        inverse = T.where(i == j, 1, T.where(i ^ j == 1, -A, 0))
        for level in T.serial(1, chunk.bit_length() - 1):
            between = T.where((i ^ j) >> level == 1, -A, 0)
            T.gemm(inverse, T.gemm(between, inverse), inverse)

        scaled = T.cast(inverse * factor[None, :], dtype)
        u = T.gemm(scaled, v)
        T.copy(u, U[b, c * chunk : (c + 1) * chunk, h, :])
        scaled = T.cast(inverse * factor[None, :] * T.exp2(decay[None, :]), dtype)
        w = T.gemm(scaled, k)
        T.copy(w, W[b, c * chunk : (c + 1) * chunk, h, :])

    # One chunk after the other, with the state on chip. Its columns do not depend on each other.
    with T.Kernel(T.ceildiv(dim_V, block_V), heads, batch, threads=threads) as (n, h, b):
        state = T.zeros((dim_K, block_V))
        for c in T.Pipelined(T.ceildiv(seq_len, chunk), num_stages=num_stages):
            w = T.copy(W[b, c * chunk : (c + 1) * chunk, h, :])
            u = T.copy(U[b, c * chunk : (c + 1) * chunk, h, n * block_V : (n + 1) * block_V])
            q = T.copy(Q[b, c * chunk : (c + 1) * chunk, h, :])
            k = T.copy(K[b, c * chunk : (c + 1) * chunk, h, :])
            decay = T.copy(sums[b, h, c * chunk : (c + 1) * chunk])
            whole = sums[b, h, T.min((c + 1) * chunk, seq_len) - 1]

            # What each token adds, less what the state had for its key already.
            held = T.cast(state, dtype)
            added = T.cast(u - T.gemm(w, held), dtype)

            o = T.gemm(q, held)
            o *= T.exp2(decay)[:, None]
            scores = T.gemm(q, k, transpose_B=True) * T.exp2(decay[:, None] - decay[None, :])
            weights = T.cast(T.where(j <= i, scores, 0), dtype)
            T.gemm(weights, added, o)
            T.copy(o, O[b, c * chunk : (c + 1) * chunk, h, n * block_V : (n + 1) * block_V])

            left = T.cast(added * T.exp2(whole - decay)[:, None], dtype)
            state *= T.exp2(whole)
            T.gemm(k, left, state, transpose_A=True)

    return O
