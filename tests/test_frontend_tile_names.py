"""Equal tiles of a macro's inlinings share a name, where nobody can still mean the earlier one."""

import numpy as np
import torch

import tile2triton
import tile2triton.language as T
from tests.frontend_programs import body_of, errors_of
from tests.three_meanings import agree

N = 64


def allocations(kernel) -> list[str]:
    lines = (line.strip() for line in body_of(kernel).splitlines())
    return [line.partition(" = ")[0] for line in lines if "T.alloc_" in line]


@T.macro
def doubled(A, row, factor):
    part = T.alloc_fragment((N,), "float32")
    T.copy(A[row, 0], part)
    for i in T.Parallel(N):
        A[row, i] = part[i] * factor


def test_a_second_inlining_uses_the_first_ones_names():
    @T.prim_func
    def main(A: T.Tensor((4, N), "float32")):
        with T.Kernel(1):
            for k in T.serial(2):
                doubled(A, k, 2.0)
            for k in T.serial(2, 4):
                doubled(A, k, 3.0)

    assert (
        body_of(main)
        == """\
for k in T.serial(2):
    part = T.alloc_fragment((N,), "float32")
    T.copy(A[k, 0], part)
    for i in T.Parallel(N):
        A[k, i] = part[i] * 2.0
for k in T.serial(2, 4):
    part = T.alloc_fragment((N,), "float32")
    T.copy(A[k, 0], part)
    for i in T.Parallel(N):
        A[k, i] = part[i] * 3.0
"""
    )


def test_a_second_inlining_in_the_same_loop_has_names_of_its_own():
    @T.prim_func
    def main(A: T.Tensor((4, N), "float32")):
        with T.Kernel(1):
            for k in T.serial(2):
                doubled(A, k, 2.0)
                doubled(A, k, 3.0)

    assert allocations(main) == ["part", "part_1"]


def test_a_tile_of_another_type_or_shape_has_a_name_of_its_own():
    @T.macro
    def make(dtype, extent):
        part = T.alloc_fragment((extent,), dtype)
        T.clear(part)

    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(1):
            make("float32", 32)
            make("float16", 32)
            make("float32", 16)
            make("float32", 32)

    assert allocations(main) == ["part", "part_1", "part_2", "part"]


def test_a_tile_that_outlives_its_macro_keeps_its_name():
    kept = []

    @T.macro
    def returned():
        part = T.alloc_fragment((N,), "float32")
        T.clear(part)
        return part

    @T.macro
    def stored():
        part = T.alloc_fragment((N,), "float32")
        T.clear(part)
        kept.append(part)

    @T.macro
    def outer(A):
        first = returned()
        second = returned()
        T.copy(first, A)
        T.copy(second, A)

    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(1):
            stored()
            stored()
            outer(A)
            outer(A)

    assert allocations(main) == ["part", "part_1", "part_2", "part_3", "part_2", "part_3"]


def test_a_tile_that_is_named_late_does_not_take_over_a_name():
    @T.macro
    def other(A):
        tile = T.alloc_fragment((N,), "float32")
        T.copy(A, tile)

    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(1):
            late = (T.alloc_fragment((N,), "float32"),)[0:1]
            other(A)
            T.copy(late[0], A)

    assert len(set(allocations(main))) == 2


def test_a_second_declaration_is_memory_without_values():
    """The second tile is read before it is written: it must not show what the first one held."""
    text = """
    def twice(A: T.Tensor((64,), "float32"), C: T.Tensor((2, 64), "float32")):
        with T.Kernel(1, threads=128) as bx:
            part = T.alloc_fragment((64,), "float32")
            T.copy(A, part)
            T.copy(part, C[0, 0])
            part = T.alloc_fragment((64,), "float32")
            for i in T.Parallel(64):
                if i < 32:
                    part[i] = A[i]
            for i in T.Parallel(64):
                if i < 32:
                    C[1, i] = part[i] + 1.0
                else:
                    C[1, i] = 0.0
    """
    outcome = agree(text, [torch.arange(64.0)], "cpu")
    assert "part = tl.zeros" in outcome.text


def test_the_reference_meaning_gives_each_declaration_its_memory():
    @tile2triton.kernel(out_idx=[1])
    def factory():
        @T.macro
        def unwritten(A, C, row, is_written):
            part = T.alloc_fragment((N,), "float32")
            if is_written:
                T.copy(A, part)
            T.copy(part, C[row, 0])

        @T.prim_func
        def main(A: T.Tensor((N,), "float32"), C: T.Tensor((2, N), "float32")):
            with T.Kernel(1):
                unwritten(A, C, 0, True)
                unwritten(A, C, 1, False)

        return main

    kernel = factory()
    assert kernel.after("trace").count(" part = T.alloc_fragment") == 2
    output = kernel.reference(np.arange(N, dtype=np.float32))
    assert not np.isnan(output[0]).any()
    assert np.isnan(output[1]).all()


def test_a_counter_that_outlives_its_loop_is_not_taken_for_the_next_loops():
    counters = []

    @T.prim_func
    def main(A: T.Tensor((N,), "int32")):
        with T.Kernel(1):
            for k in T.serial(4):
                counters.append(k + 0)
                A[k] = 0
            for k in T.serial(8):
                A[k] = counters[0]

    assert [one.code for one in errors_of(main)] == ["T2T120"]
