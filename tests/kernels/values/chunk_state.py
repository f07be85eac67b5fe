"""Mamba-2's chunk state: what the tokens of each chunk add to the state, decayed to its end."""

import tile2triton
import tile2triton.language as T

# exp2 of a number times this is its exp.
LOG2_E = 1.4426950408889634


@tile2triton.kernel
def chunk_state(
    B,
    X,
    dt,
    dA_cumsum,
    block_M=64,
    block_N=128,
    block_K=64,
    num_stages=3,
    threads=128,
    dtype=T.float16,
):
    batch, seq_len, groups, dim_state = T.const("batch, seq_len, groups, dim_state")
    heads, dim, chunks, chunk = T.const("heads, dim, chunks, chunk")
    B: T.Tensor((batch, seq_len, groups, dim_state), dtype)
    X: T.Tensor((batch, seq_len, heads, dim), dtype)
    dt: T.Tensor((batch, heads, chunks, chunk), T.float32)
    dA_cumsum: T.Tensor((batch, heads, chunks, chunk), T.float32)
    states = T.empty((batch, chunks, heads, dim, dim_state), dtype)

    blocks_M, blocks_N = T.ceildiv(dim, block_M), T.ceildiv(dim_state, block_N)
    with T.Kernel(blocks_M * blocks_N, batch * chunks, heads, threads=threads) as (bx, by, h):
        b, c, group = by // chunks, by % chunks, h // (heads // groups)
        m0, n0 = bx // blocks_N * block_M, bx % blocks_N * block_N
        dA_end = dA_cumsum[b, h, c, chunk - 1]
        acc = T.zeros((block_M, block_N))
        for k in T.Pipelined(T.ceildiv(chunk, block_K), num_stages=num_stages):
            k0 = k * block_K
            token = c * chunk + k0
            X_tile = T.copy(X[b, token : token + block_K, h, m0 : m0 + block_M])
            B_tile = T.copy(B[b, token : token + block_K, group, n0 : n0 + block_N])
            dt_k = T.copy(dt[b, h, c, k0 : k0 + block_K])
            dA_k = T.copy(dA_cumsum[b, h, c, k0 : k0 + block_K])
            decay = T.exp2((dA_end - dA_k[:, None]) * LOG2_E) * dt_k[:, None]
            weighted = T.cast(X_tile * decay, dtype)
            T.gemm(weighted, B_tile, acc, transpose_A=True)
        T.copy(acc, states[b, c, h, m0 : m0 + block_M, n0 : n0 + block_N])

    return states
