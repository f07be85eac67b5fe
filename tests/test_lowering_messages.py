"""T.print, T.device_assert, and ordered accesses to elements."""

import pytest
import torch

from rewrites.errors import RewriteError
from tests.test_lowering_atomics import random
from tests.three_meanings import agree, run_both
from tile2triton.interpreter.kernel import InterpreterError


def test_scalars_tiles_and_parts_are_printed_behind_their_message(capsys):
    outcome = agree(
        """
        def k(A: T.Tensor((20,), "float16"), C: T.Tensor((20,), "float16")):
            with T.Kernel(2, threads=128) as bx:
                x = T.alloc_fragment((20,), "float16")
                T.copy(A, x)
                T.print(bx + 1, msg="block is")
                T.print(x)
                T.print(A[3:5], msg="part")
                T.print(A[3])
                T.print(msg="only text")
                for i in T.Parallel(20):
                    T.print(x[i] * 2, msg="doubled")
                T.copy(x, C)
        """,
        [torch.arange(20).half()],
        "cpu",
    )
    printed = capsys.readouterr().out
    assert "block is: 2" in printed
    assert "part: [3. 4.]" in printed
    assert "only text" in printed
    assert "38." in printed
    assert 'tl.device_print("x", ' in outcome.text


def test_prints_under_a_condition_of_an_iteration_are_refused():
    with pytest.raises(RewriteError) as raised:
        run_both(
            """
def k(A: T.Tensor((16,), "float32"), C: T.Tensor((16,), "float32")):
    with T.Kernel(1, threads=128) as bx:
        for i in T.Parallel(16):
            if A[i] > 0:
                T.print(A[i])
            C[i] = A[i]
""",
            [random((16,), "float32")],
            "cpu",
        )
    assert raised.value.problems[0].code == "T2T621"


@pytest.mark.parametrize(("limit", "holds"), [(21, True), (15, False)])
def test_assertions_hold_for_the_elements_that_are_asked_about(limit, holds):
    """The tile's padding and the guarded elements are not asked about."""
    text = f"""
def k(A: T.Tensor((20,), "int32"), C: T.Tensor((20,), "int32")):
    with T.Kernel(1, threads=128) as bx:
        T.device_assert(bx < 1)
        for i in T.Parallel(20):
            T.device_assert(A[i] > 0, msg="not above zero")
            if i < 19:
                T.device_assert(A[i] < {limit}, msg="too large")
            C[i] = A[i]
"""
    values = torch.arange(1, 21, dtype=torch.int32)
    values[19] = 1000
    if holds:
        run_both(text, [values], "cpu")
        return
    with pytest.raises(InterpreterError, match="too large"):
        run_both(text, [values], "cpu")


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint32"])
@pytest.mark.parametrize("order", ["", ', memory_order="relaxed"'])
def test_ordered_accesses_read_and_write_elements(dtype, order, device):
    values = random((40,), "float32" if dtype.startswith("float") else "int32")
    if dtype.startswith("float"):
        values[3] = -0.0
    agree(
        f"""
        def k(A: T.Tensor((40,), "{dtype}"), C: T.Tensor((36,), "{dtype}"),
              n: T.Tensor((1,), "{dtype}")):
            with T.Kernel(1, threads=128) as bx:
                T.atomic_store(n[0], T.atomic_load(A[5]{order}) + 1{order})
                for i in T.Parallel(40):
                    x = T.atomic_load(A[i]{order})
                    T.atomic_store(C[i], x{order})
        """,
        [
            values.to(getattr(torch, dtype)),
            torch.zeros(36).to(getattr(torch, dtype)),
            torch.zeros(1).to(getattr(torch, dtype)),
        ],
        device,
        outputs=(),
    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8", "float32"])
def test_relaxed_accesses_take_every_type(dtype, device):
    agree(
        f"""
        def k(A: T.Tensor((40,), "{dtype}"), C: T.Tensor((40,), "{dtype}")):
            with T.Kernel(1, threads=128) as bx:
                for i in T.Parallel(44):
                    T.atomic_store(
                        C[i], T.atomic_load(A[i], memory_order="relaxed"), memory_order="relaxed"
                    )
        """,
        [random((40,), dtype)],
        device,
    )


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        ('C[0] = T.atomic_load(A[0], memory_order="release")', "T2T243"),
        ('T.atomic_store(C[0], 1, memory_order="acquire")', "T2T243"),
        ("T.atomic_store(C, 1)", "T2T622"),
        ("T.atomic_store(H[0], 1)", "T2T240"),
        ("T.atomic_max(H[0], 1)", "T2T240"),
        ("T.atomic_addx2(C[0], H[0], return_prev=True)", "T2T623"),
        ("T.atomic_addx4(C[0:2], H[0])", "T2T623"),
    ],
)
def test_mistakes_with_ordered_accesses_are_named(statement, code):
    with pytest.raises(RewriteError) as raised:
        run_both(
            f"""
def k(A: T.Tensor((8,), "float32"), H: T.Tensor((8,), "float16"), C: T.Tensor((8,), "float32")):
    with T.Kernel(1, threads=128) as bx:
        {statement}
""",
            [random((8,), "float32"), random((8,), "float16")],
            "cpu",
        )
    assert [problem.code for problem in raised.value.problems] == [code]


@pytest.mark.parametrize("width", [2, 4])
@pytest.mark.parametrize("dtype", ["float16", "float32", "int32"])
@pytest.mark.parametrize("columns", [32, 24])
def test_neighbours_are_added_from_tiles_and_tensors(width, dtype, columns, device):
    """Rows are gathered, two of them outside; lets and guards stand beside the loop variables."""
    index = torch.tensor([3, 0, -1, 12, 5, 3, 7, 1], dtype=torch.int32)
    count = columns // width
    agree(
        f"""
        def k(A: T.Tensor((8, {columns}), "{dtype}"), I: T.Tensor((8,), "int32"),
              C: T.Tensor((10, {columns + 3}), "{dtype}"), D: T.Tensor((8, {columns}), "{dtype}"),
              E: T.Tensor((12,), "{dtype}")):
            with T.Kernel(1, threads=128) as bx:
                a = T.alloc_shared((8, {columns}), "{dtype}")
                T.copy(A, a)
                for i, j in T.Parallel(8, {count}):
                    T.atomic_addx{width}(C[I[i], 3 + j * {width}], a[i, j * {width}])
                for i, j in T.Parallel(8, {count}):
                    row = i
                    column = j * {width}
                    if j != 1:
                        T.atomic_addx{width}(D[row, column], A[row, column])
                if T.get_thread_binding() == 0:
                    T.atomic_addx{width}(E[{12 - width // 2}], A[2, 4])
        """,
        [
            random((8, columns), dtype),
            index,
            random((10, columns + 3), dtype, 1),
            random((8, columns), dtype, 2),
            random((12,), dtype, 3),
        ],
        device,
        outputs=(),
    )


def test_neighbours_in_a_view_in_stages_and_in_the_arrays_of_threads(device):
    agree(
        """
        def k(A: T.Tensor((64, 4), "float32"), C: T.Tensor((256,), "float32"),
              D: T.Tensor((16, 16), "float32")):
            with T.Kernel(1, threads=64) as bx:
                tx = T.get_thread_binding()
                own = T.alloc_local((4,), "float32")
                for i in T.serial(4):
                    own[i] = A[tx, i] * 2.0
                T.atomic_addx4(C[tx * 4], own[0])
                a = T.alloc_shared((64, 4), "float32")
                T.copy(A, a)
                flat = T.reshape(a, (16, 16))
                for i, j in T.Parallel(16, 4):
                    T.atomic_addx4(D[i, j * 4], flat[i, j * 4])
        """,
        [random((64, 4), "float32"), random((256,), "float32", 1), random((16, 16), "float32", 2)],
        device,
        outputs=(),
    )


def test_neighbours_are_read_before_the_elements_between_them_are_stored():
    outcome = agree(
        """
        def k(A: T.Tensor((16, 64), "float32"), C: T.Tensor((16, 64), "float32")):
            with T.Kernel(1, threads=128) as bx:
                for i, j in T.Parallel(16, 16):
                    T.atomic_addx4(C[i, 4 * j], A[i, 4 * j])
                for i, j in T.Parallel(16, 16):
                    A[i, 4 * j] = 1.0
        """,
        [random((16, 64), "float32"), random((16, 64), "float32", 2)],
        "cpu",
        outputs=(),
    )
    assert outcome.text.count("tl.debug_barrier()") == 1
