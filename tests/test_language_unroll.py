"""T.unroll: bounds that are static, of whatever arithmetic, and bounds known at run time only."""

import pytest
import torch

import tile2triton
import tile2triton.language as T
from tests.both_meanings import run_kernel
from tile2triton.compile_check import check


@tile2triton.kernel
def nested(A, C, rows: int, part: int):
    A: T.Tensor((rows, 64), "int32")
    C: T.Tensor((rows, 64), "int32")
    with T.Kernel(1):
        tile = T.alloc_fragment((rows, part), "int32")
        for i in T.unroll(T.ceildiv(64, part)):
            T.copy(A[0, i * part], tile)
            for j in T.unroll(i, i + T.min(rows, part) // 4):
                for p, q in T.Parallel(rows, part):
                    tile[p, q] = tile[p, q] * 3 + j
            T.copy(tile, C[0, i * part])


@pytest.mark.parametrize(("rows", "part"), [(16, 16), (8, 24), (5, 64)])
def test_static_bounds_may_be_computed(rows, part, device):
    a = torch.arange(rows * 64, dtype=torch.int32).reshape(rows, 64) % 11
    _, c = run_kernel(nested, [a, torch.zeros_like(a)], device, rows=rows, part=part)
    expected = a.clone()
    for i in range(-(-64 // part)):
        for j in range(i, i + min(rows, part) // 4):
            columns = slice(i * part, (i + 1) * part)
            expected[:, columns] = expected[:, columns] * 3 + j
    assert torch.equal(c, expected)


@tile2triton.kernel
def ragged(starts, C, n: int):
    starts: T.Tensor((4,), "int32")
    C: T.Tensor((4, n), "int32")
    with T.Kernel(4) as bx:
        tile = T.alloc_fragment((n,), "int32")
        T.clear(tile)
        for j in T.unroll(starts[bx], 10):
            for m in T.unroll(j, 12, 2):
                for q in T.Parallel(n):
                    tile[q] = tile[q] * 2 + j * m
        T.copy(tile, C[bx, 0])


@pytest.mark.parametrize("n", [16, 11])
def test_bounds_known_at_run_time_only(n, device):
    starts = torch.tensor([7, 10, 4, 12], dtype=torch.int32)
    _, c = run_kernel(ragged, [starts, torch.zeros(4, n, dtype=torch.int32)], device, n=n)
    expected = []
    for start in starts.tolist():
        value = 0
        for j in range(start, 10):
            for m in range(j, 12, 2):
                value = value * 2 + j * m
        expected.append([value] * n)
    assert c.tolist() == expected


@tile2triton.kernel
def halves(A, C, n: int, part: int):
    A: T.Tensor((n,), "int32")
    C: T.Tensor((n,), "int32")
    with T.Kernel(part) as bx:
        tile = T.alloc_fragment((T.ceildiv(n, part),), "int32")
        for q in T.Parallel(T.ceildiv(n, part)):
            tile[q] = A[bx * T.ceildiv(n, part) + q] + 1
        T.copy(tile, C[bx * T.ceildiv(n, part)])


@pytest.mark.parametrize(("n", "part"), [(64, 2), (64, 3), (7, 7)])
def test_extents_of_tiles_may_be_computed(n, part, device):
    a = torch.arange(n, dtype=torch.int32)
    _, c = run_kernel(halves, [a, torch.zeros_like(a)], device, n=n, part=part)
    assert torch.equal(c, a + 1)


@pytest.mark.compile
@pytest.mark.parametrize(
    ("kernel", "settings"),
    [(nested, {"rows": 16, "part": 16}), (ragged, {"n": 16}), (halves, {"n": 64, "part": 2})],
)
def test_triton_compiles_each_of_them(kernel, settings):
    made = tile2triton.transpile(kernel, **settings)
    text, facts = made.emitted_for("cuda:90")
    assert all(report.ok for report in check(text, facts, ("cuda:90", "hip:gfx942")))
