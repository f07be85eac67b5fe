"""Mamba-2's chunk scan: what tokens get from the state before their chunk, and from the chunk."""

import tile2triton
import tile2triton.language as T

# exp2 of a number times this is its exp.
LOG2_E = 1.4426950408889634


@tile2triton.kernel
def chunk_scan(
    CB,
    X,
    dt,
    dA_cumsum,
    C,
    states,
    D,
    block_M=64,
    block_N=64,
    block_K=64,
    num_stages=2,
    threads=128,
    dtype=T.float16,
):
    batch, chunks, groups, chunk = T.const("batch, chunks, groups, chunk")
    seq_len, heads, dim, dim_state = T.const("seq_len, heads, dim, dim_state")
    CB: T.Tensor((batch, chunks, groups, chunk, chunk), dtype)
    X: T.Tensor((batch, seq_len, heads, dim), dtype)
    dt: T.Tensor((batch, heads, chunks, chunk), T.float32)
    dA_cumsum: T.Tensor((batch, heads, chunks, chunk), T.float32)
    C: T.Tensor((batch, seq_len, groups, dim_state), dtype)
    states: T.Tensor((batch, chunks, heads, dim, dim_state), dtype)
    D: T.Tensor((heads,), T.float32)
    Y = T.empty((batch, seq_len, heads, dim), dtype)

    blocks_M, blocks_N = T.ceildiv(chunk, block_M), T.ceildiv(dim, block_N)
    with T.Kernel(blocks_M * blocks_N, batch * chunks, heads, threads=threads) as (bx, by, h):
        C_shared = T.alloc_shared((block_M, dim_state), dtype)
        states_shared = T.alloc_shared((block_N, dim_state), dtype)
        CB_shared = T.alloc_shared((block_M, block_K), dtype)
        X_shared = T.alloc_shared((block_K, block_N), dtype)
        dt_k = T.alloc_fragment((block_K,), T.float32)
        dA_k = T.alloc_fragment((block_K,), T.float32)
        dA_m = T.alloc_fragment((block_M,), T.float32)
        weights = T.alloc_fragment((block_M, block_K), dtype)
        residual = T.alloc_shared((block_M, block_N), dtype)
        acc = T.alloc_fragment((block_M, block_N), T.float32)

        b, c, group = by // chunks, by % chunks, h // (heads // groups)
        m0, n0 = bx // blocks_N * block_M, bx % blocks_N * block_N
        token = c * chunk + m0
        T.copy(dA_cumsum[b, h, c, m0 : m0 + block_M], dA_m)
        for i in T.Parallel(block_M):
            dA_m[i] *= LOG2_E

        # The state before the chunk, which has decayed up to each token.
        T.copy(C[b, token : token + block_M, group, :], C_shared)
        T.copy(states[b, c, h, n0 : n0 + block_N, :], states_shared)
        T.gemm(C_shared, states_shared, acc, transpose_B=True, clear_accum=True)
        for i, j in T.Parallel(block_M, block_N):
            acc[i, j] *= T.exp2(dA_m[i])

        # The tokens of the chunk up to each one.
        for k in T.Pipelined(T.ceildiv(m0 + block_M, block_K), num_stages=num_stages):
            k0 = k * block_K
            T.copy(CB[b, c, group, m0 : m0 + block_M, k0 : k0 + block_K], CB_shared)
            T.copy(dA_cumsum[b, h, c, k0 : k0 + block_K], dA_k)
            T.copy(dt[b, h, c, k0 : k0 + block_K], dt_k)
            for j in T.Parallel(block_K):
                dA_k[j] *= LOG2_E
            T.copy(X[b, c * chunk + k0 : c * chunk + k0 + block_K, h, n0 : n0 + block_N], X_shared)
            for i, j in T.Parallel(block_M, block_K):
                decay = T.exp2(dA_m[i] - dA_k[j]) * dt_k[j]
                weights[i, j] = T.if_then_else(m0 + i >= k0 + j, CB_shared[i, j] * decay, 0)
            T.gemm(weights, X_shared, acc)

        T.copy(X[b, token : token + block_M, h, n0 : n0 + block_N], residual)
        for i, j in T.Parallel(block_M, block_N):
            acc[i, j] += residual[i, j] * D[h]
        T.copy(acc, Y[b, token : token + block_M, h, n0 : n0 + block_N])

    return Y
