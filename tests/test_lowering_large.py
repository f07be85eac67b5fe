"""Offsets that pass 2³¹ - 1: computed in 64 bits, whether sizes are known early or late."""

import textwrap

import pytest
import torch

from tests.tile_program import parse_program
from tile2triton import pipeline, runtime
from tile2triton.emit import emit

ROWS, COLUMNS = 70_000, 32_768
TEXT = """
{constants}
def k(A: T.Tensor((rows, columns), "int8"), C: T.Tensor((rows, columns), "int8")):
    with T.Kernel(T.ceildiv(columns, 512), T.ceildiv(rows, 64), threads=128) as (bx, by):
        tile = T.alloc_shared((64, 512), "int8")
        T.copy(A[by * 64, bx * 512], tile)
        for i, j in T.Parallel(64, 512):
            C[by * 64 + i, bx * 512 + j] = tile[i, j] + 1
"""
STATIC = f"rows = {ROWS}\ncolumns = {COLUMNS}"


def emitted(constants: str) -> str:
    dims = {} if constants else {"rows": ("A", 0), "columns": ("A", 1)}
    program = parse_program(textwrap.dedent(TEXT.format(constants=constants)), dims=dims)
    return emit(pipeline.lower(program, "cuda:90"), program.facts)


@pytest.mark.parametrize("constants", [STATIC, ""], ids=["static", "dynamic"])
def test_row_offsets_are_computed_in_64_bits(constants: str) -> None:
    assert emitted(constants).count("[:, None].to(tl.int64) * columns") == 2


def test_offsets_of_small_tensors_stay_in_32_bits() -> None:
    assert "int64" not in emitted("rows = 7000\ncolumns = 32768")


def test_strides_of_run_time_sizes_are_multiplied_in_64_bits() -> None:
    text = """
    def k(A: T.Tensor((2, n, m), "int8"), C: T.Tensor((2,), "int8")):
        with T.Kernel(2, threads=32) as bx:
            C[bx] = A[bx, 1, 1] + A[1, 1, 1] * 10
    """
    program = parse_program(textwrap.dedent(text), dims={"n": ("A", 1), "m": ("A", 2)})
    made = emit(pipeline.lower(program, "cuda:90"), program.facts)
    assert "bx.to(tl.int64) * n * m" in made
    assert "tl.full((), 1, tl.int32).to(tl.int64) * n * m" in made


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs 5 GB on a GPU")
@pytest.mark.parametrize("constants", [STATIC, ""], ids=["static", "dynamic"])
def test_the_last_rows_of_a_large_tensor_are_right(constants: str) -> None:
    a = torch.randint(-100, 100, (ROWS, COLUMNS), dtype=torch.int8, device="cuda")
    c = runtime.load(emitted(constants), "k")(a)
    for first in (0, ROWS // 2, ROWS - 100):
        rows = slice(first, first + 100)
        assert torch.equal(c[rows], a[rows] + 1)
