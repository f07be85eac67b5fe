"""Tiles at computed indices in T.Parallel: reads and writes, against the reference meaning."""

import pytest
import torch

from tests.three_meanings import agree


def numbers(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64).to(dtype)


# The tile's shape, the loop's extents, and the tile's index.
READS = [
    ((64,), (16,), "2 * i + 1"),
    ((64,), (64,), "63 - i"),
    ((64,), (64,), "i // 2"),
    ((64,), (64,), "i % 7"),
    ((64,), (64,), "i ^ 5"),
    ((64,), (64,), "(i + 1) % 64"),
    ((64,), (8, 8), "i * 8 + j"),
    ((64,), (8, 8), "j * 8 + i"),
    ((60,), (6, 10), "i * 10 + j"),
    ((60,), (20, 3), "j * 20 + i"),
    ((64,), (10, 4), "i * 4 + j"),
    ((64,), (4, 4, 4), "k * 16 + i * 4 + j"),
    ((16, 16), (16,), "i, i"),
    ((16, 16), (16,), "i, 15 - i"),
    ((16, 16), (16, 16), "j, i"),
    ((16, 16), (16, 8), "i, 2 * j"),
    ((16, 16), (16, 32), "i, j // 2"),
    ((16, 12), (16, 24), "i, j // 2"),
    ((16, 12), (16, 36), "i, j // 3"),
    ((16, 8), (16, 32), "i, j % 8"),
    ((16, 8), (16, 30), "i, j % 5"),
    ((16, 8), (128,), "i // 8, i % 8"),
    ((16, 10), (160,), "i // 10, i % 10"),
    ((16, 16), (8, 8), "i * 2 + j // 4, j % 4 * 4 + i // 2"),
    ((16, 16), (16, 16), "(i + j) % 16, j"),
    ((16, 16), (16, 16), "i ^ j, j"),
    ((16, 16), (4, 16), "i + 3, j"),
    ((16, 16), (4, 16), "i * 4 + s, j"),
    ((16, 16), (8, 4), "s * 8 + i, s * 4 + j"),
    ((16, 16), (16, 8), "i, s * 8 + j"),
    ((16, 16), (16,), "s, i"),
    ((16, 16), (16,), "i, s"),
    ((16, 16), (1,), "s, 3"),
    ((16, 1), (16,), "i, 0"),
    ((1, 1, 16), (16,), "0, 0, i"),
    ((4, 6, 8), (6, 8), "s, i, j"),
    ((4, 6, 8), (4, 8), "i, s, j"),
    ((4, 6, 8), (24, 8), "i // 6, i % 6, j"),
    ((4, 8, 8), (8, 32), "j // 8, i, j % 8"),
    ((4, 8, 8), (4, 8), "i, j, j"),
    ((2, 3, 4, 5), (3, 5), "s, i, 2, j"),
    ((24, 20), (24, 10), "i, j * 2 + 1"),
    ((24, 20), (12, 10), "2 * i, 19 - j"),
]


def text_of(shape, loop, index, store, dtype="float32"):
    variables = ", ".join("ijk"[: len(loop)])
    extents = ", ".join(map(str, loop))
    return f"""
        def k(A: T.Tensor({shape}, "{dtype}"), B: T.Tensor({loop}, "{dtype}"), s: T.int32,
              C: T.Tensor({shape}, "{dtype}"), D: T.Tensor({loop}, "{dtype}")):
            with T.Kernel(1, threads=64) as bx:
                t = T.alloc_shared({shape}, "{dtype}")
                u = T.alloc_fragment({loop}, "{dtype}")
                T.copy(A, t)
                T.copy(B, u)
                for {variables} in T.Parallel({extents}):
                    {store.format(index=index, variables=variables)}
                T.copy(t, C)
                T.copy(u, D)
        """


@pytest.mark.parametrize(("shape", "loop", "index"), READS)
@pytest.mark.parametrize("store", ["u[{variables}] = t[{index}]", "u[{variables}] += t[{index}]"])
def test_read_at_a_computed_index(shape, loop, index, store, device):
    text = text_of(shape, loop, index, store)
    agree(text, [numbers(*shape), numbers(*loop), 1], device, outputs=("C", "D"))


WRITES = [
    (shape, loop, index)
    for shape, loop, index in READS
    if index not in ("i // 2", "i % 7", "(i + j) % 16, j", "i ^ j, j", "(i + 1) % 64", "i, j, j")
    and "j // 2" not in index
    and "j // 3" not in index
    and "j % 8" not in index.partition(",")[2][:6]
    and "j % 5" not in index
    and "j // 4" not in index
]
STORES = [
    "t[{index}] = u[{variables}]",
    "t[{index}] = 7",
    "t[{index}] += u[{variables}] * 2",
    "if u[{variables}] > 0: t[{index}] = u[{variables}]",
]


@pytest.mark.parametrize(("shape", "loop", "index"), WRITES)
@pytest.mark.parametrize("store", STORES)
def test_write_at_a_computed_index(shape, loop, index, store, device):
    text = text_of(shape, loop, index, store.replace(": t", ":\n                        t"))
    agree(text, [numbers(*shape), numbers(*loop), 1], device, outputs=("C", "D"))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int8", "float8_e4m3fn", "float64"])
@pytest.mark.parametrize(("shape", "loop", "index"), READS[::4])
def test_computed_indices_of_any_type(shape, loop, index, dtype, device):
    small = torch.randint(-9, 9, shape).float().to(getattr(torch, dtype))
    other = torch.randint(-9, 9, loop).float().to(getattr(torch, dtype))
    text = text_of(shape, loop, index, "u[{variables}] = t[{index}]", dtype)
    agree(text, [small, other, 1], device, outputs=("C", "D"))


def test_let_that_is_an_index(device):
    text = text_of(
        (16, 8),
        (16, 8),
        "n // 8, n % 8",
        "n = 127 - (i * 8 + j)\n                    t[{index}] = u[i, j]",
    )
    agree(text, [numbers(16, 8), numbers(16, 8), 0], device, outputs=("C", "D"))


@pytest.mark.parametrize(
    ("index", "code"),
    [
        ("i // 2", "T2T306"),
        ("i % 7", "T2T306"),
        ("i * i", "T2T306"),
        ("s", "T2T305"),
    ],
)
def test_write_that_may_reach_an_element_twice_is_refused(index, code):
    text = text_of((64,), (32,), index, "t[{index}] = u[i]")
    with pytest.raises(Exception) as raised:
        agree(text, [numbers(64), numbers(32), 1], "cpu", outputs=("C", "D"))
    assert [problem.code for problem in raised.value.problems] == [code]


def test_hot_forms_are_reshapes_and_no_gathers(device):
    for shape, loop, index in READS:
        powers = all(n & (n - 1) == 0 for n in (*shape, *loop))
        if powers and not any(c in index for c in "^-+(s"):
            if index in ("i % 7", "i, i", "i, j, j"):
                continue
            text = text_of(shape, loop, index, "u[{variables}] = t[{index}]")
            outcome = agree(text, [numbers(*shape), numbers(*loop), 1], device, outputs=("C", "D"))
            assert "gather" not in outcome.text, index
