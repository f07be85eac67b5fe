"""What would take more shared memory than a target has is emitted so that it takes less."""

import pytest
import torch

from tests.three_meanings import agree
from tests.tile_program import parse_program
from tile2triton import pipeline
from tile2triton.compile_check import check
from tile2triton.emit import emit


def products(columns: int) -> str:
    """Products of 64 and of 32 rows that read the same tiles."""
    return f"""
    rows = 32
    width = {columns}
    def products(
        Q: T.Tensor((64, {columns}), "bfloat16"),
        O: T.Tensor((64, {columns}), "bfloat16"),
        K: T.Tensor((32, {columns}), "bfloat16"),
        C: T.Tensor((32, {columns}), "float32"),
    ):
        with T.Kernel(1, threads=128) as bx:
            q = T.alloc_shared((64, width), "bfloat16")
            o = T.alloc_shared((64, width), "bfloat16")
            k = T.alloc_shared((rows, width), "bfloat16")
            p = T.alloc_shared((64, rows), "bfloat16")
            acc = T.alloc_fragment((64, rows), "float32")
            dk = T.alloc_fragment((rows, width), "float32")
            T.copy(Q, q)
            T.copy(O, o)
            T.copy(K, k)
            T.gemm(q, k, acc, transpose_B=True, clear_accum=True)
            T.gemm(o, k, acc, transpose_B=True)
            T.copy(acc, p)
            T.gemm(p, q, dk, transpose_A=True, clear_accum=True)
            T.gemm(p, o, dk, transpose_A=True)
            T.copy(dk, C)
    """


def operands(columns: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(7)
    made = [torch.randn((rows, columns), generator=generator) for rows in (64, 64, 32)]
    return [one.to(torch.bfloat16) for one in made]


@pytest.mark.parametrize("columns", [512, 400])
def test_products_of_few_rows_are_turned_where_their_factors_would_not_fit_twice(device, columns):
    text = agree(products(columns), operands(columns), device, tolerance=1e-2).text
    assert "dk = tl.trans(tl.dot(tl.trans(q), p))" in text
    assert "dk = tl.trans(tl.dot(tl.trans(o), p, tl.trans(dk)))" in text
    assert "# Turned round, since q would be in shared memory twice." in text


def test_products_whose_factors_fit_twice_stay_as_they_are(device):
    text = agree(products(256), operands(256), device, tolerance=1e-2).text
    assert "dk = tl.dot(tl.trans(p), o, dk)" in text


def atomics(shape: str, dtype: str) -> str:
    return f"""
    M = 128
    N = 192
    def add(A: T.Tensor({shape}, "{dtype}"), C: T.Tensor({shape}, "{dtype}")):
        with T.Kernel(2, threads=256) as bx:
            tile = T.alloc_shared({shape}, "{dtype}")
            T.copy(A, tile)
            T.atomic_add(C, tile)
    """


@pytest.mark.parametrize(
    ("shape", "parts"), [("(M, N)", 2), ("(200, N)", 3), ("(32768,)", 2), ("(64, 200)", 1)]
)
def test_atomics_of_tiles_beyond_the_shared_memory_go_in_halves(device, shape, parts):
    sizes = eval(shape, {"M": 128, "N": 192})
    arrays = [torch.randn(sizes), torch.randn(sizes)]
    outcome = agree(atomics(shape, "float32"), arrays, device, outputs=(), target="hip:gfx942")
    assert outcome.text.count("tl.atomic_add(") == parts


@pytest.mark.compile
def test_turned_products_compile():
    program = parse_program(products(512), outputs=("C",))
    module = emit(pipeline.lower(program, "cuda:90"), program.facts)
    (report,) = check(module, program.facts, ("cuda:90",))
    assert report.ok, report.problem


GUARDED = """
    half = {half}
    whole = 2 * half
    def move(
        A: T.Tensor((whole, 48), "float32"),
        B: T.Tensor((half, 48), "float32"),
        C: T.Tensor((half, 48), "float32"),
        s: T.int32,
    ):
        with T.Kernel(1, threads=128) as bx:
            source = T.alloc_shared((whole, 48), "float32")
            tile = T.alloc_shared((half, 48), "float32")
            T.copy(A, source)
            T.copy(B, tile)
            for i, j in T.Parallel(whole, 48):
                if {guard}:
                    tile[i, j] = source[i + s * half, j] + 1.0
            T.copy(tile, C)
"""


@pytest.mark.parametrize("half", [16, 12])
@pytest.mark.parametrize("guard", ["i < half", "i < half and j < 40", "i < half - 1"])
def test_a_guarded_loop_over_the_end_of_a_tile_ends_with_the_guard(device, half, guard):
    text = GUARDED.format(half=half, guard=guard)
    a, b = torch.randn(2 * half, 48), torch.randn(half, 48)
    emitted = agree(text, [a, b, 1], device).text
    # The tile is not scattered into, which looks for the iteration that writes an element.
    assert "offs_lanes[:, None] - 0" not in emitted
