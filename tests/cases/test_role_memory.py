"""What groups of threads share, by whatever name: apart, in an order, or refused."""

import numpy as np
import pytest
import torch

from rewrites.errors import RewriteError
from tests.three_meanings import agree
from tests.tile_program import parse_program
from tile2triton import pipeline


def code_of(text: str) -> str:
    """The code of the error that the program is refused with."""
    with pytest.raises(RewriteError) as raised:
        pipeline.lower(parse_program(text), "cuda:90")
    return raised.value.problems[0].code


HALVES = """
    def k(A: T.Tensor((64, 32), "float32"), C: T.Tensor((64, 32), "float32")):
        with T.Kernel(2, threads=256) as bx:
            first = T.alloc_fragment((32, {width}), "float32")
            second = T.alloc_fragment((32, {width}), "float32")
            with T.ws(0):
                T.copy(A[bx * 32, 0], first)
                T.copy(first, C[bx * 32, 0])
            with T.ws(1):
                T.copy(A[bx * 32, {start}], second)
                T.copy(second, C[{row} * 32, {start}])
"""


def test_groups_may_write_parts_of_one_tensor():
    agree(HALVES.format(width=16, start=16, row="bx"), [torch.randn(64, 32)], "cpu")


@pytest.mark.parametrize(("width", "start", "row"), [(16, 15, "bx"), (16, 0, "bx"), (16, 0, "0")])
def test_groups_may_not_write_the_same_elements_of_a_tensor(width, start, row):
    assert code_of(HALVES.format(width=width, start=start, row=row)) == "T2T709"


STRIDED = """
    def k(A: T.Tensor((16, 8), "int32"), C: T.Tensor((16, 8), "int32")):
        with T.Kernel(1, threads=256) as bx:
            with T.ws(0):
                for n in T.serial(8):
                    for i in T.Parallel(8):
                        C[{first}, i] = A[n, i]
            with T.ws(1):
                for n in T.serial(8):
                    for i in T.Parallel(8):
                        C[n + 8, i] = A[n + 8, i] * 2
"""


def test_loops_of_groups_may_write_rows_that_are_apart():
    a = torch.arange(128, dtype=torch.int32).view(16, 8)
    agree(STRIDED.format(first="n"), [a], "cpu")
    assert code_of(STRIDED.format(first="n + 1")) == "T2T709"


SHARED = """
    def k(A: T.Tensor((8, 8), "float32"), C: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=256) as bx:
            box = T.alloc_shared((8, 8), "float32")
            row = T.reshape(box, (64,))
            full = T.alloc_barrier((128,))
            with T.ws(0):
                T.copy(A, box)
                {arrive}
            with T.ws(1):
                {wait}
                T.copy(row, C)
"""


def test_a_view_is_the_memory_of_its_tile():
    a = torch.randn(8, 8)
    arrive, wait = "T.barrier_arrive(full)", "T.barrier_wait(full, 0)"
    found = agree(SHARED.format(arrive=arrive, wait=wait), [a], "cpu")
    np.testing.assert_array_equal(found.triton[0].numpy(), a.numpy().reshape(-1))
    assert code_of(SHARED.format(arrive=arrive, wait="pass")) == "T2T709"
    assert code_of(SHARED.format(arrive="pass", wait="pass")) == "T2T709"


def test_a_view_of_a_fragment_belongs_to_the_same_threads():
    text = """
    def k(A: T.Tensor((8, 8), "float32"), C: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=256) as bx:
            box = T.alloc_fragment((8, 8), "float32")
            row = T.reshape(box, (64,))
            with T.ws(0):
                T.copy(A, box)
            with T.ws({reader}):
                T.copy(row, C)
    """
    agree(text.format(reader=0), [torch.randn(8, 8)], "cpu")
    assert code_of(text.format(reader=1)) == "T2T706"


def test_a_view_of_a_tensor_is_its_memory():
    text = """
    def k(A: T.Tensor((64,), "float32"), C: T.Tensor((64,), "float32"),
          D: T.Tensor((8, 8), "float32", C.data)):
        with T.Kernel(1, threads=256) as bx:
            with T.ws(0):
                T.copy(A, C)
            with T.ws(1):
                for i, j in T.Parallel(8, 8):
                    D[i, j] = 1.0
    """
    assert code_of(text) == "T2T709"


def test_a_view_of_an_array_of_each_thread_is_refused():
    text = """
    def k(A: T.Tensor((128, 4), "float32"), C: T.Tensor((128,), "float32")):
        with T.Kernel(1, threads=128) as bx:
            tx = T.get_thread_binding()
            mine = T.alloc_local((4,), "float32")
            box = T.reshape(mine, (2, 2))
            for i in T.serial(4):
                mine[i] = A[tx, i]
            C[tx] = box[1, 0]
    """
    assert code_of(text) == "T2T716"


def test_an_arrival_for_the_phase_before_is_refused():
    text = """
    def k(A: T.Tensor((8,), "float32"), C: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=384) as bx:
            both = T.alloc_barrier((256,))
            with T.ws(0):
                for k in T.serial(2):
                    T.barrier_arrive(both)
            with T.ws(1):
                for k in T.serial(2):
                    T.barrier_arrive(both)
            with T.ws(2):
                T.barrier_wait(both, 0)
                T.copy(A, C)
    """
    assert code_of(text) == "T2T715"
