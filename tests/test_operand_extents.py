"""Numbers that Python makes of extents are those of each call, however many sizes came before."""

import math
from typing import Any

import numpy as np
import pytest
import torch

import tile2triton
import tile2triton.language as T


def a_fraction_of(n: int) -> float:
    return 3.0 / n


@tile2triton.kernel
def fraction(x):
    return x * (1.0 / x.shape[0])


@tile2triton.kernel
def less_one(x):
    return x * (x.shape[0] - 1)


@tile2triton.kernel
def halves(x):
    return T.where(T.arange(x.shape[0])[:, None] < x.shape[0] // 2, x, -x)


@tile2triton.kernel
def of_columns(x):
    return x * (1 / x.shape[-1]) + x.shape[1] % 3


@tile2triton.kernel
def filled(x):
    n = x.shape[0]
    return T.full((n, 3), value=n * 2) + T.exp(n * 0.01)


@tile2triton.kernel
def fused(x):
    n = x.shape[0]
    return T.fma(x, 1 / n, n)


@tile2triton.kernel
def by_math(x):
    return T.exp(x) * math.log(x.shape[0]) + len([0] * x.shape[0])


@tile2triton.kernel
def by_text(x):
    return T.exp(x) * float(f"{x.shape[0]}") * math.isqrt(x.shape[1])


@tile2triton.kernel
def by_helper(x):
    return T.exp(x) * a_fraction_of(len(x))


@tile2triton.kernel
def variance(x):
    d = x - T.mean(x, axis=0)
    return T.sum(d * d, axis=0) * (1.0 / (x.shape[0] - 1))


@tile2triton.kernel
def divided(x):
    return T.exp(x) / x.shape[0]


@tile2triton.kernel
def a_row(x):
    return x - x[9, :]


KERNELS = [fraction, less_one, halves, of_columns, filled, fused]
KERNELS += [by_math, by_text, by_helper, variance, divided]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda one: one.__name__)
def test_numbers_of_extents_are_those_of_the_call(kernel: Any) -> None:
    for shape in ((12, 3), (15, 3), (9, 3), (12, 2), (14, 2)):
        x = torch.randn(shape)
        expected = kernel.reference(x.numpy())
        np.testing.assert_allclose(kernel(x).numpy(), expected, rtol=1e-5, atol=1e-5)


def compiled_for(kernel: Any, sizes: tuple[int, ...]) -> int:
    """How many kernels serve these sizes."""
    made = {id(kernel.compile(T.Tensor((size, 3), "float32"))) for size in sizes}
    return len(made)


def test_an_extent_alone_stays_free() -> None:
    assert compiled_for(divided, (12, 15, 9, 13)) == 1
    assert compiled_for(by_helper, (12, 15, 9, 13)) == 4


def test_an_index_is_looked_at_for_each_size() -> None:
    for size in (12, 13, 14):
        a_row(torch.ones(size, 3))
    with pytest.raises(tile2triton.TileError, match="the index 9 is outside of an extent"):
        a_row(torch.ones(9, 3))


@tile2triton.kernel
def added(x):
    return x + T.full((8,), 1.0)


@tile2triton.kernel
def in_eights(x):
    return T.reshape(x * 2, (8, -1))


def test_extents_that_met_numbers_are_looked_at_for_each_size() -> None:
    added(torch.ones(8))
    with pytest.raises(tile2triton.TileError, match="do not have one shape"):
        added(torch.ones(9))
    for rows in (8, 12, 14):
        x = torch.randn(rows, 4)
        assert torch.equal(in_eights(x), (x * 2).reshape(8, -1))
