"""Iterations and threads that store one value to one element: that value, or an error."""

import pytest
import torch

from rewrites.errors import RewriteError
from tests.three_meanings import agree, run_both

PROGRAM = """
def k(A: T.Tensor((40,), "float32"), C: T.Tensor((40,), "float32"), n: T.int32):
    with T.Kernel(1, threads=64) as bx:
        tile = T.alloc_shared((40,), "float32")
        one = T.alloc_fragment((1,), "float32")
        T.copy(A, tile)
        T.clear(one)
        for i in T.Parallel(40):
            {store}
        for i in T.Parallel(40):
            tile[i] = tile[i] + one[0]
        T.copy(tile, C)
"""


@pytest.mark.parametrize(
    "store",
    [
        "tile[3] = A[n] * 2",
        "tile[n] = 5.0",
        "one[0] = A[n + 1]",
        "tile[2] = A[n] + T.max(A[0], n)",
        "if n > 1: tile[0] = 4.0",
        "for j in T.serial(3): tile[j] = A[j + 5]",
    ],
)
def test_one_value_that_all_iterations_store_is_stored(store, device):
    agree(PROGRAM.format(store=store), [torch.randn(40), 2], device)


@pytest.mark.parametrize(
    "store",
    [
        "tile[3] = A[i]",
        "tile[3] = tile[3] + 1.0",
        "one[0] = one[0] * 2",
        "if i > 1: tile[0] = 4.0",
        "x = tile[3]; tile[3] = x + 1.0",
        "tile[3] *= 2.0",
    ],
)
def test_values_that_differ_or_follow_each_other_are_refused(store):
    with pytest.raises(RewriteError) as raised:
        run_both(PROGRAM.format(store=store), [torch.randn(40), 2], "cpu")
    assert [problem.code for problem in raised.value.problems] == ["T2T305"]


def test_values_of_a_view_are_those_of_its_tile():
    text = """
def k(A: T.Tensor((40,), "float32"), C: T.Tensor((40,), "float32")):
    with T.Kernel(1, threads=64) as bx:
        tile = T.alloc_shared((40,), "float32")
        box = T.reshape(tile, (5, 8))
        T.copy(A, tile)
        for i in T.Parallel(40):
            tile[3] = box[0, 3] + 1.0
        T.copy(tile, C)
"""
    with pytest.raises(RewriteError) as raised:
        run_both(text, [torch.randn(40)], "cpu")
    assert [problem.code for problem in raised.value.problems] == ["T2T305"]


def test_threads_that_store_one_value_store_it(device):
    agree(
        """
        def k(A: T.Tensor((128,), "float32"), C: T.Tensor((128,), "float32")):
            with T.Kernel(2, threads=64) as bx:
                tx = T.get_thread_binding()
                tile = T.alloc_shared((8,), "float32")
                for j in T.serial(8):
                    tile[j] = A[bx * 8 + j]
                x = A[bx * 64 + tx]
                C[bx * 64 + tx] = x + tile[tx % 8]
        """,
        [torch.randn(128)],
        device,
    )


def test_threads_beyond_a_tile_are_refused():
    text = """
def k(A: T.Tensor((64,), "float32"), C: T.Tensor((64,), "float32")):
    with T.Kernel(1, threads=64) as bx:
        tx = T.get_thread_binding()
        tile = T.alloc_shared((32,), "float32")
        tile[tx] = A[tx]
        T.sync_threads()
        C[tx] = tile[tx // 2]
"""
    with pytest.raises(RewriteError) as raised:
        run_both(text, [torch.randn(64)], "cpu")
    assert [problem.code for problem in raised.value.problems] == ["T2T323"]
