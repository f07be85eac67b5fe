"""T.sync_grid: what all programs wrote before is there, whichever of them runs first."""

import pytest
import torch

from rewrites.errors import RewriteError
from tests.three_meanings import agree
from tests.tile_program import parse_program
from tile2triton import pipeline

TURNED = """
    N = {n}
    def k(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32"), C: T.Tensor((N,), "float32")):
        with T.Kernel(T.ceildiv(N, 32), threads=128) as bx:
            start = bx * 32
            row = T.alloc_shared((32,), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.copy(A[start], row)
            for i in T.Parallel(32):
                if start + i < N:
                    B[start + i] = row[i] * 2.0
            T.sync_grid()
            T.clear(row)
            T.sync_grid()
            for i in T.Parallel(32):
                if start + i < N:
                    C[start + i] = B[N - 1 - start - i] + A[start + i]
"""


@pytest.mark.parametrize("n", [32, 64, 100, 512])
def test_programs_see_what_all_others_wrote(n):
    a, b = torch.randn(n), torch.zeros(n)
    text = TURNED.format(n=n)
    found = agree(text, [a, b], "cpu", outputs=("C",))
    torch.testing.assert_close(found.triton[0], a + 2 * a.flip(0))
    assert found.text.count("@triton.jit") == 2


KEPT = """
    def k(A: T.Tensor((64,), "float32"), C: T.Tensor((64,), "float32")):
        with T.Kernel(2, threads=128) as bx:
            tile = T.alloc_fragment((32,), "float32")
            count = T.alloc_var("int32", 0)
            {first}
            T.sync_grid()
            {second}
"""


@pytest.mark.parametrize(
    ("first", "second", "code"),
    [
        ("T.copy(A[bx * 32], tile)", "T.copy(tile, C[bx * 32])", "T2T718"),
        ("count = count + 1", "C[bx] = T.cast(count, 'float32')", "T2T718"),
        ("x = A[bx]", "C[bx] = x", "T2T718"),
        ("T.copy(A[bx * 32], C[bx * 32])", "if bx > 0:\n                T.sync_grid()", "T2T717"),
    ],
)
def test_what_cannot_be_kept_is_refused(first, second, code):
    with pytest.raises(RewriteError) as raised:
        pipeline.lower(parse_program(KEPT.format(first=first, second=second)), "cuda:90")
    assert raised.value.problems[0].code == code


def test_a_tile_that_is_filled_anew_is_not_kept():
    first = "T.copy(A[bx * 32], tile)\n            T.copy(tile, C[bx * 32])"
    second = "T.copy(C[32 - bx * 32], tile)\n            T.copy(tile, C[32 - bx * 32])"
    agree(KEPT.format(first=first, second=second), [torch.randn(64)], "cpu")
