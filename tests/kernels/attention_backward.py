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

    # What a row's weights have in common in their derivatives.
    with T.Kernel(row_blocks, heads, batch, threads=threads) as (bx, h, b):
        o = T.alloc_fragment((block_M, dim), T.float32)
        do = T.alloc_fragment((block_M, dim), T.float32)
        total = T.alloc_fragment((block_M,), T.float32)
        T.copy(O[b, h, bx * block_M : (bx + 1) * block_M, :], o)
        T.copy(dO[b, h, bx * block_M : (bx + 1) * block_M, :], do)
        for i, j in T.Parallel(block_M, dim):
            o[i, j] *= do[i, j]
        T.reduce_sum(o, total, dim=1)
        T.copy(total, delta[b, h, bx * block_M : (bx + 1) * block_M])

    # Keys and values: all is transposed, so that the weights stay in registers.
    with T.Kernel(key_blocks, heads, batch, threads=threads) as (bx, h, b):
        k = T.alloc_shared((block_N, dim), dtype)
        v = T.alloc_shared((block_N, dim), dtype)
        q = T.alloc_shared((block_M, dim), dtype)
        do = T.alloc_shared((block_M, dim), dtype)
        row_lse = T.alloc_fragment((block_M,), T.float32)
        row_delta = T.alloc_fragment((block_M,), T.float32)
        weights = T.alloc_fragment((block_N, block_M), T.float32)
        grads = T.alloc_fragment((block_N, block_M), T.float32)
        weights_cast = T.alloc_fragment((block_N, block_M), dtype)
        grads_cast = T.alloc_fragment((block_N, block_M), dtype)
        dk = T.alloc_fragment((block_N, dim), T.float32)
        dv = T.alloc_fragment((block_N, dim), T.float32)

        first_key = bx * block_N
        T.copy(K[b, h, first_key : first_key + block_N, :], k)
        T.copy(V[b, h, first_key : first_key + block_N, :], v)
        T.clear(dk)
        T.clear(dv)
        for m in T.Pipelined(
            first_key // block_M if is_causal else 0, row_blocks, num_stages=num_stages
        ):
            first_row = m * block_M
            T.copy(Q[b, h, first_row : first_row + block_M, :], q)
            T.copy(lse[b, h, first_row : first_row + block_M], row_lse)
            T.gemm(k, q, weights, transpose_B=True, policy=rowwise, clear_accum=True)
            for i, j in T.Parallel(block_N, block_M):
                weights[i, j] = T.exp2(weights[i, j] * (scale * LOG2_E) - row_lse[j] * LOG2_E)
            if is_causal:
                for i, j in T.Parallel(block_N, block_M):
                    seen = first_key + i <= first_row + j
                    weights[i, j] = T.if_then_else(seen, weights[i, j], 0)
            T.copy(dO[b, h, first_row : first_row + block_M, :], do)
            T.copy(delta[b, h, first_row : first_row + block_M], row_delta)
            T.gemm(v, do, grads, transpose_B=True, policy=rowwise, clear_accum=True)
            T.copy(weights, weights_cast)
            T.gemm(weights_cast, do, dv, policy=rowwise)
            for i, j in T.Parallel(block_N, block_M):
                grads[i, j] = weights[i, j] * (grads[i, j] - row_delta[j])
            T.copy(grads, grads_cast)
            T.gemm(grads_cast, q, dk, policy=rowwise)
        for i, j in T.Parallel(block_N, dim):
            dk[i, j] *= scale
        T.copy(dk, dK[b, h, first_key : first_key + block_N, :])
        T.copy(dv, dV[b, h, first_key : first_key + block_N, :])

    # Queries, with rows and keys in each other's place.
    with T.Kernel(T.ceildiv(seq_len, block_N), heads, batch, threads=threads) as (bx, h, b):
        q = T.alloc_shared((block_N, dim), dtype)
        do = T.alloc_shared((block_N, dim), dtype)
        k = T.alloc_shared((block_M, dim), dtype)
        v = T.alloc_shared((block_M, dim), dtype)
        row_lse = T.alloc_fragment((block_N,), T.float32)
        row_delta = T.alloc_fragment((block_N,), T.float32)
        weights = T.alloc_fragment((block_N, block_M), T.float32)
        grads = T.alloc_fragment((block_N, block_M), T.float32)
        grads_cast = T.alloc_fragment((block_N, block_M), dtype)
        dq = T.alloc_fragment((block_N, dim), T.float32)

        first_row = bx * block_N
        T.copy(Q[b, h, first_row : first_row + block_N, :], q)
        T.copy(dO[b, h, first_row : first_row + block_N, :], do)
        T.copy(lse[b, h, first_row : first_row + block_N], row_lse)
        T.copy(delta[b, h, first_row : first_row + block_N], row_delta)
        T.clear(dq)
        stop = T.min(first_row + block_N, seq_len) if is_causal else seq_len
        for n in T.Pipelined(T.ceildiv(stop, block_M), num_stages=num_stages):
            first_key = n * block_M
            T.copy(K[b, h, first_key : first_key + block_M, :], k)
            T.gemm(q, k, weights, transpose_B=True, policy=rowwise, clear_accum=True)
            for i, j in T.Parallel(block_N, block_M):
                weights[i, j] = T.exp2(weights[i, j] * (scale * LOG2_E) - row_lse[i] * LOG2_E)
            if is_causal:
                for i, j in T.Parallel(block_N, block_M):
                    seen = first_key + j <= first_row + i
                    weights[i, j] = T.if_then_else(seen, weights[i, j], 0)
            T.copy(V[b, h, first_key : first_key + block_M, :], v)
            T.gemm(do, v, grads, transpose_B=True, policy=rowwise, clear_accum=True)
            for i, j in T.Parallel(block_N, block_M):
                grads[i, j] = weights[i, j] * (grads[i, j] - row_delta[i])
            T.copy(grads, grads_cast)
            T.gemm(grads_cast, k, dq, policy=rowwise)
        for i, j in T.Parallel(block_N, dim):
            dq[i, j] *= scale
        T.copy(dq, dQ[b, h, first_row : first_row + block_N, :])

    return dQ, dK, dV
