"""The reference meaning of the tile operators: gemm, reductions, fill, atomics."""

import ml_dtypes
import numpy as np
import pytest

from tests.tile_program import parse_program
from tile2triton import reference
from tile2triton.reference.values import as_tf32, numpy_dtype

GEMM = """
block_M = {block_M}
block_N = {block_N}
block_K = {block_K}
def matmul(A: T.Tensor((M, K), "{dtype}"), B: T.Tensor((K, N), "{dtype}"),
           C: T.Tensor((M, N), "{out}")):
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
        A_shared = T.alloc_shared((block_M, block_K), "{dtype}")
        B_shared = T.alloc_shared((block_K, block_N), "{dtype}")
        C_local = T.alloc_fragment((block_M, block_N), "{accum}")
        T.clear(C_local)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=3):
            T.copy(A[by * block_M, k * block_K], A_shared)
            T.copy(B[k * block_K, bx * block_N], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        T.copy(C_local, C[by * block_M, bx * block_N])
"""


def gemm(dtype, out, accum="float32", blocks=(64, 64, 32)):
    m, n, k = blocks
    return parse_program(
        GEMM.format(dtype=dtype, out=out, accum=accum, block_M=m, block_N=n, block_K=k)
    )


@pytest.mark.parametrize(
    ("sizes", "blocks"),
    [
        ((64, 64, 24), (64, 64, 24)),
        ((65, 33, 40), (64, 64, 32)),
        ((1, 64, 64), (64, 64, 32)),
        ((64, 24, 64), (64, 24, 32)),
    ],
)
def test_gemm_of_ones_counts_k(sizes, blocks):
    m, n, k = sizes
    arrays = [np.ones((m, k), np.float16), np.ones((k, n), np.float16)]
    (c,) = reference.run(gemm("float16", "float16", blocks=blocks), arrays)
    np.testing.assert_array_equal(c, np.full((m, n), k))


@pytest.mark.parametrize(
    ("dtype", "out", "accum"),
    [
        ("float16", "float32", "float32"),
        ("bfloat16", "float32", "float32"),
        ("float8_e4m3fn", "float32", "float32"),
        ("float8_e5m2", "float16", "float32"),
        ("float64", "float64", "float64"),
    ],
)
def test_gemm_of_random_operands(dtype, out, accum):
    rng = np.random.default_rng(0)
    a = rng.standard_normal((70, 50)).astype(numpy_dtype(dtype))
    b = rng.standard_normal((50, 40)).astype(numpy_dtype(dtype))
    (c,) = reference.run(gemm(dtype, out, accum), [a, b])
    expected = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(c, expected, rtol=2e-3 if out == "float16" else 1e-4, atol=1e-4)


def test_gemm_of_int8_is_exact():
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-128, 128, (64, 64)).astype(np.int8) for _ in "ab")
    (c,) = reference.run(gemm("int8", "int32", "int32"), [a, b])
    np.testing.assert_array_equal(c, a.astype(np.int32) @ b.astype(np.int32))


def test_gemm_rounds_float32_to_tf32():
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((64, 64)).astype(np.float32) for _ in "ab")
    (c,) = reference.run(gemm("float32", "float32"), [a, b])
    exact = as_tf32(a).astype(np.float64) @ as_tf32(b).astype(np.float64)
    np.testing.assert_allclose(c, exact, rtol=1e-5, atol=1e-5)
    assert np.abs(c - a.astype(np.float64) @ b.astype(np.float64)).max() > 1e-4


@pytest.mark.parametrize("a_scope", ["shared", "fragment"])
@pytest.mark.parametrize("b_scope", ["shared", "fragment"])
def test_clear_accum_forgets_the_accumulator(a_scope, b_scope):
    program = parse_program(
        f"""
        def kernel(C: T.Tensor((16, 16), "float32")):
            with T.Kernel(1) as bx:
                a = T.alloc_{a_scope}((16, 32), "float16")
                b = T.alloc_{b_scope}((32, 16), "float16")
                c = T.alloc_fragment((16, 16), "float32")
                T.fill(a, 1)
                T.fill(b, 1)
                T.fill(c, 5)
                T.gemm(a, b, c, clear_accum=True)
                T.copy(c, C)
        """
    )
    np.testing.assert_array_equal(reference.run(program, [])[0], np.full((16, 16), 32))


def test_clear_accum_may_depend_on_the_iteration():
    program = parse_program(
        """
        def kernel(C: T.Tensor((16, 16), "float32")):
            with T.Kernel(1) as bx:
                a = T.alloc_shared((32, 16), "float16")
                b = T.alloc_shared((16, 32), "float16")
                c = T.alloc_fragment((16, 16), "float32")
                T.fill(a, 1)
                T.fill(b, 1)
                for k in T.serial(3):
                    T.gemm(a, b, c, transpose_A=True, transpose_B=True, clear_accum=k == 0)
                T.copy(c, C)
        """
    )
    np.testing.assert_array_equal(reference.run(program, [])[0], np.full((16, 16), 96))


REDUCE = """
rows = {rows}
width = {width}
def kernel(A: T.Tensor((rows, width), "{dtype}"), C: T.Tensor(({extent},), "{out}")):
    with T.Kernel(1) as bx:
        f = T.alloc_fragment((rows, width), "{dtype}")
        r = T.alloc_fragment(({extent},), "{out}")
        T.copy(A, f)
        T.fill(r, {start})
        T.{operator}(f, r, dim={dim}{options})
        T.copy(r, C)
"""


def reduced(operator, a, dim=1, start=0, options="", out=None):
    rows, width = a.shape
    extent = ("rows", "width")[1 - dim % 2]
    program = parse_program(
        REDUCE.format(
            rows=rows,
            width=width,
            dtype=a.dtype.name,
            out=out or a.dtype.name,
            extent=extent,
            operator=operator,
            dim=dim,
            start=start,
            options=options,
        )
    )
    return reference.run(program, [a])[0]


def test_reductions_of_a_width_that_is_no_power_of_two():
    a = np.arange(1, 49, dtype=np.float32)[None, :]
    assert reduced("reduce_sum", a) == 1176
    assert reduced("reduce_max", -a) == -1


@pytest.mark.parametrize("width", [20, 576, 768])
def test_absolute_maximum_is_found_everywhere(width):
    a = np.diag(np.full(width, -7, np.float32))
    np.testing.assert_array_equal(reduced("reduce_absmax", a), np.full(width, 7))


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize(
    ("operator", "function"),
    [
        ("reduce_sum", np.sum),
        ("reduce_max", np.max),
        ("reduce_min", np.min),
        ("reduce_abssum", lambda x, axis: np.sum(np.abs(x), axis)),
        ("reduce_absmax", lambda x, axis: np.max(np.abs(x), axis)),
    ],
)
def test_reductions_along_each_dim(operator, function, dim):
    a = np.random.default_rng(0).standard_normal((17, 23)).astype(np.float32)
    np.testing.assert_allclose(reduced(operator, a, dim), function(a, axis=dim), rtol=1e-5)


def test_reduction_without_clear_takes_the_old_value_in():
    a = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
    np.testing.assert_allclose(
        reduced("reduce_sum", a, start=3, options=", clear=False"), a.sum(1) + 3, rtol=1e-6
    )
    np.testing.assert_array_equal(
        reduced("reduce_max", a, start=1, options=", clear=False"), np.maximum(a.max(1), 1)
    )
    np.testing.assert_array_equal(
        reduced("reduce_min", a, start=-1, options=", clear=False"), np.minimum(a.min(1), -1)
    )


def test_nan_policy_of_maximum():
    row = np.array([[1, np.nan, 3]], np.float32)
    assert reduced("reduce_max", row) == 3
    assert np.isnan(
        reduced("reduce_max", row, start=-1, options=", nan_propagate=True, clear=False")
    )


def test_reduction_casts_to_the_type_of_its_output():
    a = np.full((2, 3), 1.7, np.float32)
    np.testing.assert_array_equal(reduced("reduce_sum", a, out="int32"), [3, 3])
    halves = reduced("reduce_sum", np.full((2, 3), 0.1, np.float32), out="float16")
    np.testing.assert_array_equal(halves, np.full(2, np.float16(np.float16(0.1) * np.float32(3))))


def test_column_sums_over_ragged_tiles():
    program = parse_program(
        """
        def kernel(A: T.Tensor((M, N), "float32"), C: T.Tensor((N,), "float32")):
            with T.Kernel(T.ceildiv(N, 32)) as bx:
                f = T.alloc_fragment((32, 32), "float32")
                s = T.alloc_fragment((32,), "float32")
                T.clear(s)
                for k in T.serial(T.ceildiv(M, 32)):
                    T.copy(A[k * 32, bx * 32], f)
                    for i, j in T.Parallel(32, 32):
                        f[i, j] = T.if_then_else(k * 32 + i < M, T.exp(f[i, j]), 0)
                    T.reduce_sum(f, s, dim=0, clear=False)
                T.copy(s, C[bx * 32])
        """
    )
    (c,) = reference.run(program, [np.zeros((41, 129), np.float32)])
    np.testing.assert_array_equal(c, np.full(129, 41))


def test_fill_casts_its_value():
    program = parse_program(
        """
        def kernel(C: T.Tensor((16,), "int8"), D: T.Tensor((4,), "float32")):
            with T.Kernel(1) as bx:
                f = T.alloc_fragment((16,), "int8")
                g = T.alloc_fragment((4,), "float32")
                x = T.alloc_var("int32", 7)
                T.fill(f, -3)
                T.clear(g)
                T.fill(g[1:3], x)
                T.clear(x)
                g[0] = x
                T.copy(f, C)
                T.copy(g, D)
        """,
        outputs=("C", "D"),
    )
    c, d = reference.run(program, [])
    np.testing.assert_array_equal(c, np.full(16, -3, np.int8))
    np.testing.assert_array_equal(d, [0, 7, 7, 0])


def test_what_nobody_wrote_is_seen():
    program = parse_program(
        """
        def kernel(C: T.Tensor((4,), "float32"), D: T.Tensor((4,), "int32")):
            with T.Kernel(1) as bx:
                f = T.alloc_fragment((4,), "float32")
                f[2] = 1
                T.copy(f, C)
        """,
        outputs=("C", "D"),
    )
    c, d = reference.run(program, [])
    np.testing.assert_array_equal(c, [np.nan, np.nan, 1, np.nan])
    np.testing.assert_array_equal(d, [-(2**31) + 1] * 4)


def test_atomic_add_of_regions_drops_what_lies_outside():
    program = parse_program(
        """
        def kernel(A: T.Tensor((M, N), "float16"), C: T.Tensor((M, N), "float32")):
            with T.Kernel(3) as bx:
                f = T.alloc_fragment((8, 8), "float16")
                T.copy(A[0, 0], f)
                T.atomic_add(C[0, 0], f)
        """,
        outputs=(),
    )
    a = np.random.default_rng(0).standard_normal((6, 7)).astype(np.float16)
    c = np.ones((6, 7), np.float32)
    assert reference.run(program, [a, c]) == ()
    np.testing.assert_allclose(c, 1 + 3 * a.astype(np.float32), rtol=1e-6)


def test_atomic_add_of_elements_counts_every_iteration():
    program = parse_program(
        """
        def kernel(A: T.Tensor((N,), "int32"), H: T.Tensor((4,), "int32"),
                   C: T.Tensor((N,), "int32")):
            with T.Kernel(T.ceildiv(N, 8)) as bx:
                for i in T.Parallel(8):
                    if bx * 8 + i < N:
                        position = T.atomic_add(H[A[bx * 8 + i]], 1, return_prev=True)
                        C[bx * 8 + i] = position
        """
    )
    a = np.random.default_rng(0).integers(0, 4, 27).astype(np.int32)
    h = np.zeros(4, np.int32)
    (c,) = reference.run(program, [a, h])
    np.testing.assert_array_equal(h, np.bincount(a, minlength=4))
    np.testing.assert_array_equal(c, [(a[:n] == x).sum() for n, x in enumerate(a)])


def test_atomic_add_in_bfloat16():
    program = parse_program(
        """
        def kernel(C: T.Tensor((8,), "bfloat16")):
            with T.Kernel(2) as bx:
                for i in T.Parallel(8):
                    T.atomic_add(C[i], 1.5)
        """,
        outputs=(),
    )
    c = np.zeros(8, ml_dtypes.bfloat16)
    reference.run(program, [c])
    np.testing.assert_array_equal(c.astype(np.float32), np.full(8, 3))


def test_assumption_is_checked():
    program = parse_program(
        """
        def kernel(A: T.Tensor((N,), "float32"), C: T.Tensor((N,), "float32")):
            with T.Kernel(1) as bx:
                T.assume(N % 8 == 0)
                T.use_swizzle(8)
                T.sync_threads()
        """
    )
    reference.run(program, [np.zeros(8, np.float32)])
    with pytest.raises(reference.AssumptionFailedError, match="N % 8"):
        reference.run(program, [np.zeros(9, np.float32)])
