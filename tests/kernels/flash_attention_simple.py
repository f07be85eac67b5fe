"""FlashAttention, forward, in one loop: every turn says which scores are seen."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel(out_idx=[3])
def flash_attention_simple(
    batch,
    heads,
    seq_len,
    dim,
    is_causal=False,
    layout="bshd",
    dtype=T.float16,
    block_M=128,
    block_N=128,
    num_stages=2,
    threads=256,
):
    shape = (batch, seq_len, heads, dim) if layout == "bshd" else (batch, heads, seq_len, dim)
    scale = dim**-0.5 * 1.4426950408889634
    rowwise = T.GemmWarpPolicy.FullRow

    def rows(X, b, h, first, size):
        region = slice(first, first + size)
        return X[b, region, h, :] if layout == "bshd" else X[b, h, region, :]

    @T.prim_func
    def attention(
        Q: T.Tensor(shape, dtype),
        K: T.Tensor(shape, dtype),
        V: T.Tensor(shape, dtype),
        O: T.Tensor(shape, dtype),
    ):
        with T.Kernel(T.ceildiv(seq_len, block_M), heads, batch, threads=threads) as (bx, by, bz):
            Q_shared = T.alloc_shared((block_M, dim), dtype)
            K_shared = T.alloc_shared((block_N, dim), dtype)
            V_shared = T.alloc_shared((block_N, dim), dtype)
            scores = T.alloc_fragment((block_M, block_N), T.float32)
            weights = T.alloc_fragment((block_M, block_N), dtype)
            acc = T.alloc_fragment((block_M, dim), T.float32)
            row_max = T.alloc_fragment((block_M,), T.float32)
            new_max = T.alloc_fragment((block_M,), T.float32)
            rescale = T.alloc_fragment((block_M,), T.float32)
            row_sum = T.alloc_fragment((block_M,), T.float32)

            # The last rows have the most work and go first.
            first = (T.ceildiv(seq_len, block_M) - 1 - bx) * block_M if is_causal else bx * block_M
            seen = T.min(first + block_M, seq_len) if is_causal else seq_len

            T.copy(rows(Q, bz, by, first, block_M), Q_shared)
            T.clear(acc)
            T.clear(row_sum)
            T.fill(row_max, -T.infinity(T.float32))
            for k in T.Pipelined(T.ceildiv(seen, block_N), num_stages=num_stages):
                T.copy(rows(K, bz, by, k * block_N, block_N), K_shared)
                for i, j in T.Parallel(block_M, block_N):
                    is_seen = (
                        first + i >= k * block_N + j if is_causal else k * block_N + j < seq_len
                    )
                    scores[i, j] = T.if_then_else(is_seen, 0, -T.infinity(T.float32))
                T.gemm(Q_shared, K_shared, scores, transpose_B=True, policy=rowwise)
                T.reduce_max(scores, new_max, dim=1)
                for i in T.Parallel(block_M):
                    new_max[i] = T.max(row_max[i], new_max[i] * scale)
                    rescale[i] = T.exp2(row_max[i] - new_max[i])
                    row_max[i] = new_max[i]
                for i, j in T.Parallel(block_M, block_N):
                    scores[i, j] = T.exp2(scores[i, j] * scale - row_max[i])
                for i in T.Parallel(block_M):
                    row_sum[i] = row_sum[i] * rescale[i]
                T.reduce_sum(scores, row_sum, dim=1, clear=False)
                for i, j in T.Parallel(block_M, dim):
                    acc[i, j] = acc[i, j] * rescale[i]
                T.copy(scores, weights)
                T.copy(rows(V, bz, by, k * block_N, block_N), V_shared)
                T.gemm(weights, V_shared, acc, policy=rowwise)
            for i, j in T.Parallel(block_M, dim):
                acc[i, j] = acc[i, j] / row_sum[i]
            T.copy(acc, rows(O, bz, by, first, block_M))

    return attention
