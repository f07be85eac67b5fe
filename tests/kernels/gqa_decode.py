"""Decoding with grouped queries: one token's attention, the keys shared out to several programs."""

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def gqa_decode(
    Q, K, V, dim=128, splits=8, block_H=16, block_N=64, num_stages=2, threads=128, dtype=T.float16
):
    batch, heads, kv_len, kv_heads = T.const("batch, heads, kv_len, kv_heads")
    Q: T.Tensor((batch, heads, dim), dtype)
    K: T.Tensor((batch, kv_len, kv_heads, dim), dtype)
    V: T.Tensor((batch, kv_len, kv_heads, dim), dtype)
    O = T.empty((batch, heads, dim), dtype)
    parts = T.alloc_global((batch, heads, splits, dim), T.float32)
    sums = T.alloc_global((batch, heads, splits), T.float32)

    # With log2(e) folded into the scale, exp2 computes exp.
    scale = dim**-0.5 * 1.4426950408889634
    group = heads // kv_heads
    blocks = T.ceildiv(kv_len, block_N)
    with T.Kernel(splits, kv_heads, batch, threads=threads) as (part, h, b):
        Q_shared = T.alloc_shared((block_H, dim), dtype)
        K_shared = T.alloc_shared((block_N, dim), dtype)
        V_shared = T.alloc_shared((block_N, dim), dtype)
        scores = T.alloc_fragment((block_H, block_N), T.float32)
        weights = T.alloc_fragment((block_H, block_N), dtype)
        acc = T.alloc_fragment((block_H, dim), T.float32)
        row_max = T.alloc_fragment((block_H,), T.float32)
        new_max = T.alloc_fragment((block_H,), T.float32)
        row_sum = T.alloc_fragment((block_H,), T.float32)
        rescale = T.alloc_fragment((block_H,), T.float32)

        # Rows past the group are another group's queries, whose results are not kept.
        T.copy(Q[b, h * group : h * group + block_H, :], Q_shared)
        T.clear(acc)
        T.clear(row_sum)
        T.fill(row_max, -1e30)
        for k in T.Pipelined(
            part * blocks // splits, (part + 1) * blocks // splits, num_stages=num_stages
        ):
            T.copy(K[b, k * block_N : (k + 1) * block_N, h, :], K_shared)
            T.gemm(Q_shared, K_shared, scores, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(block_H, block_N):
                seen = k * block_N + j < kv_len
                scores[i, j] = T.if_then_else(seen, scores[i, j] * scale, -T.infinity(T.float32))
            T.reduce_max(scores, new_max, dim=1)
            for i in T.Parallel(block_H):
                new_max[i] = T.max(row_max[i], new_max[i])
                rescale[i] = T.exp2(row_max[i] - new_max[i])
                row_sum[i] = row_sum[i] * rescale[i]
                row_max[i] = new_max[i]
            for i, j in T.Parallel(block_H, block_N):
                scores[i, j] = T.exp2(scores[i, j] - row_max[i])
            T.reduce_sum(scores, row_sum, dim=1, clear=False)
            for i, j in T.Parallel(block_H, dim):
                acc[i, j] *= rescale[i]
            T.copy(scores, weights)
            T.copy(V[b, k * block_N : (k + 1) * block_N, h, :], V_shared)
            T.gemm(weights, V_shared, acc)
        for i, j in T.Parallel(block_H, dim):
            if i < group:
                parts[b, h * group + i, part, j] = acc[i, j] / T.max(row_sum[i], 1e-30)
        for i in T.Parallel(block_H):
            if i < group:
                sums[b, h * group + i, part] = row_max[i] + T.log2(T.max(row_sum[i], 1e-30))

    # Each part counts by how much of the whole sum it is.
    with T.Kernel(heads, batch, threads=threads) as (h, b):
        part_sums = T.alloc_fragment((splits,), T.float32)
        values = T.alloc_fragment((splits, dim), T.float32)
        largest = T.alloc_fragment((1,), T.float32)
        whole = T.alloc_fragment((1,), T.float32)
        o = T.alloc_fragment((dim,), T.float32)

        T.copy(sums[b, h, :], part_sums)
        T.copy(parts[b, h, :, :], values)
        T.reduce_max(part_sums, largest, dim=0)
        for i in T.Parallel(splits):
            part_sums[i] = T.exp2(part_sums[i] - largest[0])
        T.reduce_sum(part_sums, whole, dim=0)
        for i, j in T.Parallel(splits, dim):
            values[i, j] *= part_sums[i]
        T.reduce_sum(values, o, dim=0)
        for j in T.Parallel(dim):
            O[b, h, j] = o[j] / whole[0]

    return O
