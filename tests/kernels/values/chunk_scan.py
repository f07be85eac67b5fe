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
        b, c, group = by // chunks, by % chunks, h // (heads // groups)
        m0, n0 = bx // blocks_N * block_M, bx % blocks_N * block_N
        token = c * chunk + m0
        dA_m = T.copy(dA_cumsum[b, h, c, m0 : m0 + block_M])
        dA_m *= LOG2_E

        # The state before the chunk, which has decayed up to each token.
        C_tile = T.copy(C[b, token : token + block_M, group, :])
        before = T.copy(states[b, c, h, n0 : n0 + block_N, :])
        acc = T.gemm(C_tile, before, transpose_B=True)
        acc *= T.exp2(dA_m)[:, None]

        # The tokens of the chunk up to each one.
        i, j = m0 + T.arange(block_M)[:, None], T.arange(block_K)[None, :]
        for k in T.Pipelined(T.ceildiv(m0 + block_M, block_K), num_stages=num_stages):
            k0 = k * block_K
            CB_tile = T.copy(CB[b, c, group, m0 : m0 + block_M, k0 : k0 + block_K])
            dA_k = T.copy(dA_cumsum[b, h, c, k0 : k0 + block_K])
            dt_k = T.copy(dt[b, h, c, k0 : k0 + block_K])
            dA_k *= LOG2_E
            X_tile = T.copy(X[b, c * chunk + k0 : c * chunk + k0 + block_K, h, n0 : n0 + block_N])
            decay = T.exp2(dA_m[:, None] - dA_k[None, :]) * dt_k[None, :]
            weights = T.cast(T.where(i >= k0 + j, CB_tile * decay, 0), dtype)
            T.gemm(weights, X_tile, acc)

        residual = T.copy(X[b, token : token + block_M, h, n0 : n0 + block_N])
        acc += residual * D[h]
        T.copy(acc, Y[b, token : token + block_M, h, n0 : n0 + block_N])

    return Y
