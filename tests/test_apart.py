"""Stores of a loop that go to elements of their own in each iteration need no barrier."""

import ast

import pytest

from rewrites import separate_accesses
from tests.tile_program import parse_program

PROGRAM = """
size = 32
half = 16

def k(A: T.Tensor((1024,), "float32"), C: T.Tensor((1024,), "float32")):
    with T.Kernel(1, threads=128) as bx:
        tile = T.alloc_fragment((size,), "float32")
        for v in T.serial(8):
            T.copy(A[v * size], tile)
            {store}
"""


def barriers(store: str) -> int:
    program = parse_program(PROGRAM.format(store=store))
    tree = separate_accesses.run(program.tree, program.facts)
    return ast.unparse(tree).count("T.sync_threads()")


@pytest.mark.parametrize(
    "store",
    [
        "T.copy(tile, C[v * size])",
        "T.copy(tile, C[v * size : (v + 1) * size])",
        "T.copy(tile, C[v * size : v * size + size])",
        "for i in T.Parallel(size): C[v * size + i] = tile[i]",
    ],
)
def test_tiles_side_by_side_need_no_barrier(store: str) -> None:
    assert barriers(store) == 0


@pytest.mark.parametrize(
    "store",
    [
        "T.copy(tile, C[v * half])",
        "T.copy(tile, C[v * half : (v + 2) * half])",
        "T.copy(tile, C[bx * size])",
        "for i in T.Parallel(size): C[v * half + i] = tile[i]",
        "for i in T.Parallel(size): C[v * size + i * 2] = tile[i]",
    ],
)
def test_tiles_that_overlap_need_one(store: str) -> None:
    assert barriers(store) == 1


def test_a_loop_around_that_goes_over_the_same_tiles_again_needs_one() -> None:
    store = "for w in T.serial(4): T.copy(tile, C[w * size])"
    assert barriers(store) == 1
