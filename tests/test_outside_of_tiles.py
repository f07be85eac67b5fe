"""Indices that surely leave a tile are refused, and those that may stay inside are not."""

import pytest
import torch

from rewrites.errors import RewriteError
from tests.three_meanings import agree
from tests.tile_program import parse_program
from tile2triton import pipeline

PROGRAM = """
half = 16
def k(A: T.Tensor((32,), "float32"), C: T.Tensor((32,), "float32")):
    with T.Kernel(1, threads=32) as bx:
        tile = T.alloc_shared((half,), "float32")
        T.clear(tile)
        for i in T.Parallel(32):
            C[i] = -1.0
        {loop}:
            {body}
        for i in T.Parallel(half):
            C[i] = tile[i]
"""


@pytest.mark.parametrize(
    ("loop", "body", "found"),
    [
        ("for i in T.Parallel(32)", "tile[i] = A[i]", "indices from 0 to 31"),
        ("for i in T.Parallel(half + 1)", "C[i] = tile[i]", "indices from 0 to 16"),
        ("for i in T.Parallel(half)", "tile[i] = tile[i + 1]", "indices from 1 to 16"),
        ("for i in T.Parallel(half)", "tile[i] = tile[i - 1]", "indices from -1 to 14"),
        ("for i, j in T.Parallel(2, 12)", "C[i] = tile[i * 12 + j]", "indices from 0 to 23"),
        ("for i in T.serial(half + 1)", "tile[i] = 1.0", "indices from 0 to 16"),
        ("for i in T.Parallel(32)", "C[i] = T.if_then_else(tile[i] > 0, 1.0, 0.0)", "to 31"),
    ],
)
def test_indices_that_surely_leave_a_tile_are_refused(loop, body, found):
    program = parse_program(PROGRAM.format(loop=loop, body=body), outputs=("C",))
    with pytest.raises(RewriteError) as raised:
        pipeline.lower(program, "cuda:90")
    (problem,) = raised.value.problems
    assert problem.code == "T2T323"
    assert found in problem.found[0]


@pytest.mark.parametrize(
    ("loop", "body"),
    [
        ("for i in T.Parallel(32)", "C[i] = T.if_then_else(i < half, tile[i], 0.0)"),
        ("for i in T.Parallel(32)", "C[i] = tile[i % half]"),
        ("for i in T.Parallel(32)", "C[i] = tile[i // 2]"),
        ("for i in T.Parallel(32)", "C[i] = tile[i - i // half * half]"),
        ("for i in T.Parallel(32)", "if i < half and tile[i] < 1: C[i] = 2.0"),
        ("for i in T.serial(32)", "if i < half: tile[i] = A[i]"),
        ("for i in T.serial(bx, half)", "tile[i] = A[i]"),
    ],
)
def test_indices_that_may_stay_inside_are_lowered(loop, body, device):
    agree(PROGRAM.format(loop=loop, body=body), [torch.randn(32)], device)


def test_a_jump_may_keep_an_index_inside(device):
    body = "if i >= half:\n                break\n            tile[i] = A[i]"
    text = PROGRAM.format(loop="for i in T.serial(32)", body=body)
    agree(text, [torch.randn(32)], device)
