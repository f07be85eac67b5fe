"""FlashAttention, backward: dQ, dK and dV from dO, O and the log-sum-exp of each row's scores."""

import tile2triton
import tile2triton.language as T

LOG2_E = 1.4426950408889634


@tile2triton.kernel
def attention_backward(
    Q,
    K,
    V,
    O,
    dO,
    lse,
    is_causal=False,
    dim=128,
    block_M=64,
    block_N=128,
    num_stages=2,
    threads=256,
    dtype=T.float16,
):
    batch, heads, seq_len = T.const("batch, heads, seq_len")
    Q: T.Tensor((batch, heads, seq_len, dim), dtype)
    K: T.Tensor((batch, heads, seq_len, dim), dtype)
    V: T.Tensor((batch, heads, seq_len, dim), dtype)
    O: T.Tensor((batch, heads, seq_len, dim), dtype)
    dO: T.Tensor((batch, heads, seq_len, dim), dtype)
    lse: T.Tensor((batch, heads, seq_len), T.float32)
    dQ = T.empty((batch, heads, seq_len, dim), dtype)
    dK = T.empty((batch, heads, seq_len, dim), dtype)
    dV = T.empty((batch, heads, seq_len, dim), dtype)
    delta = T.alloc_global((batch, heads, seq_len), T.float32)

    scale = dim**-0.5
    rowwise = T.GemmWarpPolicy.FullRow
    row_blocks, key_blocks = T.ceildiv(seq_len, block_M), T.ceildiv(seq_len, block_N)
    i, j = T.arange(block_N)[:, None], T.arange(block_M)[None, :]

    # What a row's weights have in common in their derivatives.
    with T.Kernel(row_blocks, heads, batch, threads=threads) as (bx, h, b):
        o = T.copy(O[b, h, bx * block_M : (bx + 1) * block_M, :])
        do = T.copy(dO[b, h, bx * block_M : (bx + 1) * block_M, :])
        total = T.reduce_sum(T.cast(o, T.float32) * do, dim=1)
        T.copy(total, delta[b, h, bx * block_M : (bx + 1) * block_M])

    # Keys and values: all is transposed, so that the weights stay in registers.
    with T.Kernel(key_blocks, heads, batch, threads=threads) as (bx, h, b):
        first_key = bx * block_N
        k = T.copy(K[b, h, first_key : first_key + block_N, :])
        v = T.copy(V[b, h, first_key : first_key + block_N, :])
        dk, dv = T.zeros((block_N, dim)), T.zeros((block_N, dim))
        first_block = first_key // block_M if is_causal else 0
        for m in T.Pipelined(first_block, row_blocks, num_stages=num_stages):
            first_row = m * block_M
            q = T.copy(Q[b, h, first_row : first_row + block_M, :])
            row_lse = T.copy(lse[b, h, first_row : first_row + block_M])
            scores = T.gemm(k, q, transpose_B=True, policy=rowwise)
            weights = T.exp2(scores * (scale * LOG2_E) - row_lse[None, :] * LOG2_E)
            if is_causal:
                weights = T.where(first_key + i <= first_row + j, weights, 0)
            do = T.copy(dO[b, h, first_row : first_row + block_M, :])
            row_delta = T.copy(delta[b, h, first_row : first_row + block_M])
            grads = T.gemm(v, do, transpose_B=True, policy=rowwise)
            T.gemm(T.cast(weights, dtype), do, dv, policy=rowwise)
            grads = weights * (grads - row_delta[None, :])
            T.gemm(T.cast(grads, dtype), q, dk, policy=rowwise)
        dk *= scale
        T.copy(dk, dK[b, h, first_key : first_key + block_N, :])
        T.copy(dv, dV[b, h, first_key : first_key + block_N, :])

    # Queries, with rows and keys in each other's place.
    with T.Kernel(key_blocks, heads, batch, threads=threads) as (bx, h, b):
        first_row = bx * block_N
        q = T.copy(Q[b, h, first_row : first_row + block_N, :])
        do = T.copy(dO[b, h, first_row : first_row + block_N, :])
        row_lse = T.copy(lse[b, h, first_row : first_row + block_N])
        row_delta = T.copy(delta[b, h, first_row : first_row + block_N])
        dq = T.zeros((block_N, dim))
        stop = T.min(first_row + block_N, seq_len) if is_causal else seq_len
        for n in T.Pipelined(T.ceildiv(stop, block_M), num_stages=num_stages):
            first_key = n * block_M
            k = T.copy(K[b, h, first_key : first_key + block_M, :])
            scores = T.gemm(q, k, transpose_B=True, policy=rowwise)
            weights = T.exp2(scores * (scale * LOG2_E) - row_lse[:, None] * LOG2_E)
            if is_causal:
                weights = T.where(first_key + j <= first_row + i, weights, 0)
            v = T.copy(V[b, h, first_key : first_key + block_M, :])
            grads = T.gemm(do, v, transpose_B=True, policy=rowwise)
            grads = weights * (grads - row_delta[:, None])
            T.gemm(T.cast(grads, dtype), k, dq, policy=rowwise)
        dq *= scale
        T.copy(dq, dQ[b, h, first_row : first_row + block_N, :])

    return dQ, dK, dV
