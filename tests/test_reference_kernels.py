"""The reference meaning of whole kernels against plain NumPy."""

import numpy as np
import pytest

from tests.tile_program import parse_program
from tile2triton import reference
from tile2triton.reference.values import numpy_dtype

ATTENTION = """
block_M = 32
block_N = 16
dim = 24
scale = 0.2944889
def attention(Q: T.Tensor((B, S, H, dim), "float16"), K: T.Tensor((B, S, H, dim), "float16"),
              V: T.Tensor((B, S, H, dim), "float16"), C: T.Tensor((B, S, H, dim), "float16")):
    with T.Kernel(T.ceildiv(S, block_M), H, B, threads=128) as (bx, by, bz):
        Q_shared = T.alloc_shared((block_M, dim), "float16")
        K_shared = T.alloc_shared((block_N, dim), "float16")
        V_shared = T.alloc_shared((block_N, dim), "float16")
        scores = T.alloc_fragment((block_M, block_N), "float32")
        weights = T.alloc_fragment((block_M, block_N), "float16")
        acc = T.alloc_fragment((block_M, dim), "float32")
        row_max = T.alloc_fragment((block_M,), "float32")
        old_max = T.alloc_fragment((block_M,), "float32")
        rescale = T.alloc_fragment((block_M,), "float32")
        row_sum = T.alloc_fragment((block_M,), "float32")
        new_sum = T.alloc_fragment((block_M,), "float32")
        T.copy(Q[bz, bx * block_M:(bx + 1) * block_M, by, :], Q_shared)
        T.fill(acc, 0)
        T.fill(row_sum, 0)
        T.fill(row_max, -T.infinity("float32"))
        for k in T.Pipelined(T.min(T.ceildiv(S, block_N), T.ceildiv((bx + 1) * block_M, block_N)),
                             num_stages=2):
            T.copy(K[bz, k * block_N:(k + 1) * block_N, by, :], K_shared)
            for i, j in T.Parallel(block_M, block_N):
                scores[i, j] = T.if_then_else(
                    bx * block_M + i >= k * block_N + j, 0, -T.infinity("float32"))
            T.gemm(Q_shared, K_shared, scores, transpose_B=True, policy="FullRow")
            T.copy(row_max, old_max)
            T.reduce_max(scores, row_max, dim=1, clear=False)
            for i in T.Parallel(block_M):
                rescale[i] = T.exp2(old_max[i] * scale - row_max[i] * scale)
            for i, j in T.Parallel(block_M, block_N):
                scores[i, j] = T.exp2(scores[i, j] * scale - row_max[i] * scale)
            T.reduce_sum(scores, new_sum, dim=1)
            for i in T.Parallel(block_M):
                row_sum[i] = row_sum[i] * rescale[i] + new_sum[i]
            T.copy(scores, weights)
            for i, j in T.Parallel(block_M, dim):
                acc[i, j] *= rescale[i]
            T.copy(V[bz, k * block_N:(k + 1) * block_N, by, :], V_shared)
            T.gemm(weights, V_shared, acc)
        for i, j in T.Parallel(block_M, dim):
            acc[i, j] /= row_sum[i]
        T.copy(acc, C[bz, bx * block_M:(bx + 1) * block_M, by, :])
"""


@pytest.mark.parametrize("length", [64, 50])
def test_causal_attention(length):
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((2, length, 3, 24)).astype(np.float16) for _ in "qkv")
    (c,) = reference.run(parse_program(ATTENTION), [q, k, v])
    scores = np.einsum("bihd,bjhd->bhij", *(x.astype(np.float64) for x in (q, k)))
    scores = np.where(np.tril(np.ones((length, length), bool)), scores * 24**-0.5, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    expected = np.einsum("bhij,bjhd->bihd", weights, v.astype(np.float64))
    np.testing.assert_allclose(c.astype(np.float64), expected, atol=3e-3)


def test_split_k_gemm():
    program = parse_program(
        """
        splits = 3
        def kernel(A: T.Tensor((M, K), "bfloat16"), B: T.Tensor((N, K), "bfloat16"),
                   C: T.Tensor((M, N), "float32")):
            with T.Kernel(T.ceildiv(N, 32), T.ceildiv(M, 32), splits) as (bx, by, bz):
                a = T.alloc_shared((32, 16), "bfloat16")
                b = T.alloc_shared((32, 16), "bfloat16")
                c = T.alloc_fragment((32, 32), "float32")
                T.clear(c)
                for k in T.Pipelined(T.ceildiv(T.ceildiv(K, 16), splits), num_stages=2):
                    start = (k * splits + bz) * 16
                    T.copy(A[by * 32, start], a)
                    T.copy(B[bx * 32, start], b)
                    T.gemm(a, b, c, transpose_B=True)
                for i, j in T.Parallel(32, 32):
                    T.atomic_add(C[by * 32 + i, bx * 32 + j], c[i, j])
        """,
        outputs=(),
    )
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((size, 100)).astype(numpy_dtype("bfloat16")) for size in (70, 40))
    c = np.zeros((70, 40), np.float32)
    reference.run(program, [a, b, c])
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64).T, atol=1e-4)


def test_softmax_of_rows_in_one_pass():
    program = parse_program(
        """
        width = 300
        def softmax(A: T.Tensor((M, width), "float16"), C: T.Tensor((M, width), "float16")):
            with T.Kernel(T.ceildiv(M, 4)) as bx:
                x = T.alloc_fragment((4, width), "float32")
                m = T.alloc_fragment((4, 1), "float32")
                s = T.alloc_fragment((4,), "float32")
                T.copy(A[bx * 4, 0], x)
                T.reduce_max(x, m, dim=1)
                for i, j in T.Parallel(4, width):
                    x[i, j] = T.exp(x[i, j] - m[i, 0])
                T.reduce_sum(x, s)
                for i, j in T.Parallel(4, width):
                    if bx * 4 + i < M:
                        C[bx * 4 + i, j] = x[i, j] / s[i]
        """
    )
    a = np.random.default_rng(0).standard_normal((10, 300)).astype(np.float16)
    (c,) = reference.run(program, [a])
    wide = np.exp(a.astype(np.float64) - a.max(-1, keepdims=True))
    np.testing.assert_allclose(c, wide / wide.sum(-1, keepdims=True), rtol=1e-3)
