"""FlashAttention, forward, with the next Q Kᵀ in flight while this block's softmax runs."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel(out_idx=[3])
def flash_attention_overlapped(
    batch,
    heads,
    seq_len,
    dim,
    is_causal=False,
    layout="bshd",
    dtype=T.float16,
    block=128,
    num_stages=3,
    threads=256,
):
    shape = (batch, seq_len, heads, dim) if layout == "bshd" else (batch, heads, seq_len, dim)
    # With log2(e) folded into the scale, exp2 computes exp.
    scale = dim**-0.5 * 1.4426950408889634
    # Each warp has whole rows, so that a row's maximum needs no other warp.
    rowwise = T.GemmWarpPolicy.FullRow

    def rows(X, b, h, first):
        region = slice(first, first + block)
        return X[b, region, h, :] if layout == "bshd" else X[b, h, region, :]

    @T.prim_func
    def attention(
        Q: T.Tensor(shape, dtype),
        K: T.Tensor(shape, dtype),
        V: T.Tensor(shape, dtype),
        O: T.Tensor(shape, dtype),
    ):
        with T.Kernel(T.ceildiv(seq_len, block), heads, batch, threads=threads) as (bx, by, bz):
            Q_shared = T.alloc_shared((block, dim), dtype)
            K_shared = T.alloc_shared((block, dim), dtype)
            V_shared = T.alloc_shared((block, dim), dtype)
            weights_cast = T.alloc_shared((block, block), dtype)
            scores = T.alloc_fragment((block, block), T.float32)
            weights = T.alloc_fragment((block, block), T.float32)
            acc = T.alloc_fragment((block, dim), T.float32)
            row_max = T.alloc_fragment((block,), T.float32)
            new_max = T.alloc_fragment((block,), T.float32)
            row_sum = T.alloc_fragment((block,), T.float32)
            rescale = T.alloc_fragment((block,), T.float32)

            # The last rows have the most work and go first. The key block that needs a mask, on
            # the diagonal or past the end, is the first one; the loop walks down to block 0.
            last = T.ceildiv(seq_len, block) - 1
            row = (last - bx) * block if is_causal else bx * block
            top = last - bx if is_causal else last
            T.copy(rows(Q, bz, by, row), Q_shared)
            T.copy(rows(K, bz, by, top * block), K_shared)
            T.gemm(Q_shared, K_shared, scores, transpose_B=True, policy=rowwise, clear_accum=True)
            if is_causal or seq_len % block != 0:
                for i, j in T.Parallel(block, block):
                    seen = j <= i if is_causal else top * block + j < seq_len
                    scores[i, j] = T.if_then_else(seen, scores[i, j], -T.infinity(T.float32))
            T.reduce_max(scores, row_max, dim=1)
            for i, j in T.Parallel(block, block):
                weights[i, j] = T.exp2(scores[i, j] * scale - row_max[i] * scale)
            T.reduce_sum(weights, row_sum, dim=1)
            T.clear(acc)

            for step in T.Pipelined(top, num_stages=num_stages):
                T.copy(rows(K, bz, by, (top - step - 1) * block), K_shared)
                T.gemm(
                    Q_shared, K_shared, scores, transpose_B=True, policy=rowwise, clear_accum=True
                )
                # The tensor cores work on this while the softmax of the next block runs.
                T.copy(rows(V, bz, by, (top - step) * block), V_shared)
                T.copy(weights, weights_cast)
                T.gemm(weights_cast, V_shared, acc, policy=rowwise)
                T.reduce_max(scores, new_max, dim=1)
                for i in T.Parallel(block):
                    new_max[i] = T.max(row_max[i], new_max[i])
                    rescale[i] = T.exp2((row_max[i] - new_max[i]) * scale)
                    row_max[i] = new_max[i]
                for i, j in T.Parallel(block, block):
                    weights[i, j] = T.exp2(scores[i, j] * scale - row_max[i] * scale)
                for i in T.Parallel(block):
                    row_sum[i] = row_sum[i] * rescale[i]
                T.reduce_sum(weights, row_sum, dim=1, clear=False)
                for i, j in T.Parallel(block, dim):
                    acc[i, j] = acc[i, j] * rescale[i]

            T.copy(rows(V, bz, by, 0), V_shared)
            T.copy(weights, weights_cast)
            T.gemm(weights_cast, V_shared, acc, policy=rowwise)
            for i, j in T.Parallel(block, dim):
                acc[i, j] = acc[i, j] / row_sum[i]
            T.copy(acc, rows(O, bz, by, row))

    return attention
