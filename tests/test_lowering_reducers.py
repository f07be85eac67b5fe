"""Reducers: values of many iterations, loops and tiles combined into one element."""

import pytest
import torch

import tile2triton
import tile2triton.language as T
from rewrites.errors import RewriteError
from tests.test_lowering_atomics import random
from tests.three_meanings import agree


@pytest.mark.parametrize("op", ["sum", "max", "min", "bitand", "bitor", "bitxor"])
@pytest.mark.parametrize("columns", [32, 20])
@pytest.mark.parametrize("init", ["", ", init=7"])
def test_values_of_all_loops_are_combined(op, columns, init, device):
    """A sum over serial tiles, in the middle a guard, and a second loop of other extent."""
    dtype = "int32" if op.startswith("bit") else "float32"
    agree(
        f"""
        def k(A: T.Tensor((40, {columns * 3}), "{dtype}"), B: T.Tensor((40,), "{dtype}"),
              C: T.Tensor((40,), "{dtype}")):
            with T.Kernel(1, threads=128) as bx:
                r = T.alloc_reducer((40,), "{dtype}", op="{op}")
                a = T.alloc_fragment((40, {columns}), "{dtype}")
                y = T.alloc_fragment((40,), "{dtype}")
                T.reducer_init(r{init})
                for k in T.serial(3):
                    T.copy(A[0, k * {columns}], a)
                    for i, j in T.Parallel(40, {columns}):
                        if j % 3 != k:
                            T.reducer_update(r[i], a[i, j])
                for i in T.Parallel(40):
                    T.reducer_update(r[i], B[i])
                T.finalize_reducer(r, dst=y)
                T.copy(y, C)
        """,
        [random((40, columns * 3), dtype), random((40,), dtype, 1)],
        device,
    )


@pytest.mark.parametrize("op", ["sum", "max"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int32", "int64"])
def test_reducer_of_one_element(op, dtype, device):
    agree(
        f"""
        def k(A: T.Tensor((8,), "{dtype}"), B: T.Tensor((20,), "{dtype}"),
              C: T.Tensor((1,), "{dtype}")):
            with T.Kernel(1, threads=128) as bx:
                r = T.alloc_reducer((1,), "{dtype}", op="{op}")
                y = T.alloc_fragment((1,), "{dtype}")
                T.reducer_init(r, init=2)
                for i in T.Parallel(8):
                    T.reducer_update(r[0], A[i])
                for i in T.Parallel(20):
                    T.reducer_update(r[0], B[i])
                T.finalize_reducer(r, dst=y)
                C[0] = y[0]
        """,
        [random((8,), dtype), random((20,), dtype, 1)],
        device,
        tolerance=2e-2 if dtype.endswith("float16") else None,
    )


def test_program_in_python_gives_row_sums_and_maxima(device):
    @tile2triton.kernel
    def rows(M, N, older):
        @T.prim_func
        def main(
            A: T.Tensor((M, N), "float32"),
            B: T.Tensor((M,), "float32"),
            C: T.Tensor((M,), "float32"),
        ):
            with T.Kernel(T.ceildiv(M, 16), threads=64) as bx:
                sums = T.alloc_reducer(16, "float32", replication="all")
                largest = T.alloc_reducer(16, "float32", op="max")
                out = T.alloc_fragment(16, "float32")
                a = T.alloc_fragment((16, N), "float32")
                T.clear(sums)
                T.reducer_init(largest)
                T.copy(A[bx * 16, 0], a)
                for i, j in T.Parallel(16, N):
                    sums[i] += a[i, j]
                    T.reducer_update(largest[i], a[i, j])
                T.finalize_reducer(sums)
                T.finalize_reducer(largest, out)
                T.copy(sums, B[bx * 16])
                T.copy(out, C[bx * 16])

        return main

    a = random((50, 27), "float32").to(device)
    b, c = torch.zeros(50, device=device), torch.zeros(50, device=device)
    rows(50, 27, True)(a, b, c)
    torch.testing.assert_close(b, a.sum(1))
    torch.testing.assert_close(c, a.max(1).values)


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ("T.reducer_update(r, 1)", "T2T616"),
        ("T.reducer_update(x[0], 1)", "T2T616"),
        ("T.reducer_init(r[0])", "T2T616"),
        ("T.reducer_init(x)", "T2T616"),
        ("T.finalize_reducer(r, dst=A)", "T2T616"),
        ("T.finalize_reducer(r, dst=short)", "T2T616"),
        ("q = T.alloc_reducer((4,), 'float32', op='mean')", "T2T615"),
        ("q = T.alloc_reducer((4,), 'float32', op='bitor')", "T2T612"),
    ],
)
def test_mistakes_with_reducers_are_named(statement, code, device):
    with pytest.raises(RewriteError) as raised:
        agree(
            f"""
            def k(A: T.Tensor((8,), "float32"), C: T.Tensor((8,), "float32")):
                with T.Kernel(1, threads=128) as bx:
                    r = T.alloc_reducer((8,), "float32")
                    x = T.alloc_fragment((8,), "float32")
                    short = T.alloc_fragment((4,), "float32")
                    {statement}
                    T.copy(x, C)
            """,
            [random((8,), "float32")],
            device,
        )
    assert [problem.code for problem in raised.value.problems] == [code]


@pytest.mark.parametrize("op", ["max", "min"])
@pytest.mark.parametrize("is_first", [True, False])
def test_older_form_updates_with_an_assignment(op, is_first, device):
    """What the reducer is filled with takes part once."""
    combine = getattr(T, op)

    @tile2triton.kernel(out_idx=[-1])
    def rows(M, N, seed):
        @T.prim_func
        def main(A: T.Tensor((M, N), "float32"), B: T.Tensor((M,), "float32")):
            with T.Kernel(T.ceildiv(M, 16), threads=64) as bx:
                r = T.alloc_reducer(16, "float32", op=op, replication="all")
                a = T.alloc_fragment((16, N), "float32")
                T.fill(r, seed)
                T.copy(A[bx * 16, 0], a)
                for i, j in T.Parallel(16, N):
                    if is_first:
                        r[i] = combine(r[i], a[i, j])
                    else:
                        r[i] = combine(a[i, j] * 2, r[i])
                T.finalize_reducer(r)
                T.copy(r, B[bx * 16])

        return main

    a = random((21, 11), "float32").to(device) + 3
    kernel = rows(21, 11, 3.5)
    values = torch.cat([a if is_first else a * 2, torch.full((21, 1), 3.5, device=device)], 1)
    expected = getattr(values, op)(1).values
    torch.testing.assert_close(kernel(a), expected)
    torch.testing.assert_close(torch.as_tensor(kernel.reference(a.cpu())), expected.cpu())
