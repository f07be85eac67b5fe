"""Results of other shapes are computed by launches of their own, each element once."""

import pytest
import torch

import tile2triton
import tile2triton.language as T
from tests.test_whole_operands import check, normal
from tile2triton import Schedule
from tile2triton.diagnostics import TileError


def launches(kernel, *operands):
    return kernel.compile(*operands).after("tile_operands").count("with T.Kernel(")


@tile2triton.kernel
def both_ways(x, y):
    return T.gemm(x, y), T.gemm(y, x)


@tile2triton.kernel
def products(x, w, v, u):
    return T.gemm(x, w, transpose_B=False), T.relu(T.gemm(v, u, transpose_B=False))


def test_products_of_other_shapes(device, poisoned):
    x, y = normal(70, 33), normal(33, 70, seed=1)
    check(both_ways, [x, y], (x.double() @ y.double(), y.double() @ x.double()), device)
    operands = [normal(*shape) for shape in ((12, 33), (33, 7), (130, 20), (20, 9))]
    a, b, c, d = (one.double() for one in operands)
    check(products, operands, (a @ b, (c @ d).relu()), device)


@tile2triton.kernel
def scans(x):
    return T.cumsum(x, axis=0), T.cumsum(x, axis=1), x * 2


def test_scans_along_two_axes(device, poisoned):
    x = normal(17, 20, dtype=torch.float32)
    check(scans, [x], (x.double().cumsum(0), x.double().cumsum(1), x.double() * 2), device)


@tile2triton.kernel
def neighbours(x):
    return x[1:, :-1] + x[:-1, 1:], x[:, None, :] * x[None, :, :], T.sum(x, axis=0)


def test_elements_of_other_shapes(device, poisoned):
    x = normal(12, 12, dtype=torch.float32)
    d = x.double()
    expected = d[1:, :-1] + d[:-1, 1:], d[:, None] * d[None], d.sum(0)
    check(neighbours, [x], expected, device)


@tile2triton.kernel
def of_one_row(x):
    weights = T.softmax(x)
    return weights, T.amax(x, axis=-1), T.reduce("min", x, axis=0)


def test_what_runs_over_the_same_elements_is_one_launch():
    assert launches(of_one_row, T.Tensor((40, 300), "float32")) == 1
    assert launches(scans, T.Tensor((40, 300), "float32")) == 2


@tile2triton.kernel
def joint(x):
    return T.cumsum(x, axis=0) + T.cumsum(x, axis=1)


@pytest.mark.parametrize(
    ("kernel", "shapes", "code"),
    [
        (joint, [(5, 7)], "T2T851"),
        (both_ways.scheduled(Schedule(tile={"m": 32})), [(70, 33), (33, 70)], "T2T867"),
    ],
)
def test_what_is_no_one_kernel_says_to_write_two(kernel, shapes, code):
    with pytest.raises(TileError) as caught:
        kernel(*(torch.zeros(shape) for shape in shapes))
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.filename) == (code, __file__)
    assert "of its own" in diagnostic.hint
