"""What would take more shared memory than a target has is emitted so that it takes less."""

import pytest
import torch

from tests.three_meanings import agree


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
