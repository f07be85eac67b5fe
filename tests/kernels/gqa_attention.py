"""Attention forward with grouped queries: some heads of Q share one of K and V."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def gqa_attention(
    Q,
    K,
    V,
    dim=128,
    is_causal=False,
    block_M=128,
    block_N=128,
    num_stages=2,
    threads=256,
    dtype=T.float16,
):
    batch, seq_len, heads, kv_heads = T.const("batch, seq_len, heads, kv_heads")
    Q: T.Tensor((batch, seq_len, heads, dim), dtype)
    K: T.Tensor((batch, seq_len, kv_heads, dim), dtype)
    V: T.Tensor((batch, seq_len, kv_heads, dim), dtype)
    O = T.empty((batch, seq_len, heads, dim), dtype)

    # With log2(e) folded into the scale, exp2 computes exp.
    scale = dim**-0.5 * 1.4426950408889634
    rowwise = T.GemmWarpPolicy.FullRow
    blocks = T.ceildiv(seq_len, block_M)
    with T.Kernel(blocks, heads, batch, threads=threads) as (bx, h, b):
        q = T.alloc_shared((block_M, dim), dtype)
        k = T.alloc_shared((block_N, dim), dtype)
        v = T.alloc_shared((block_N, dim), dtype)
        scores = T.alloc_fragment((block_M, block_N), T.float32)
        weights = T.alloc_fragment((block_M, block_N), dtype)
        acc = T.alloc_fragment((block_M, dim), T.float32)
        row_max = T.alloc_fragment((block_M,), T.float32)
        new_max = T.alloc_fragment((block_M,), T.float32)
        row_sum = T.alloc_fragment((block_M,), T.float32)
        rescale = T.alloc_fragment((block_M,), T.float32)

        # The last rows of a triangle have the most work and go first.
        row = (blocks - 1 - bx) * block_M if is_causal else bx * block_M
        stop = T.min(row + block_M, seq_len) if is_causal else seq_len
        group = h // (heads // kv_heads)
        T.copy(Q[b, row : row + block_M, h, :], q)
        T.clear(acc)
        T.clear(row_sum)
        T.fill(row_max, -T.infinity(T.float32))
        for n in T.Pipelined(T.ceildiv(stop, block_N), num_stages=num_stages):
            T.copy(K[b, n * block_N : (n + 1) * block_N, group, :], k)
            T.gemm(q, k, scores, transpose_B=True, policy=rowwise, clear_accum=True)
            for i, j in T.Parallel(block_M, block_N):
                column = n * block_N + j
                seen = column <= row + i if is_causal else column < seq_len
                scores[i, j] = T.if_then_else(seen, scores[i, j], -T.infinity(T.float32))
            T.reduce_max(scores, new_max, dim=1)
            for i in T.Parallel(block_M):
                new_max[i] = T.max(row_max[i], new_max[i] * scale)
                rescale[i] = T.exp2(row_max[i] - new_max[i])
                row_sum[i] *= rescale[i]
                row_max[i] = new_max[i]
            for i, j in T.Parallel(block_M, block_N):
                scores[i, j] = T.exp2(scores[i, j] * scale - row_max[i])
            T.reduce_sum(scores, row_sum, dim=1, clear=False)
            for i, j in T.Parallel(block_M, dim):
                acc[i, j] *= rescale[i]
            T.copy(scores, weights)
            T.copy(V[b, n * block_N : (n + 1) * block_N, group, :], v)
            T.gemm(weights, v, acc, policy=rowwise)
        for i, j in T.Parallel(block_M, dim):
            acc[i, j] /= row_sum[i]
        T.copy(acc, O[b, row : row + block_M, h, :])

    return O
