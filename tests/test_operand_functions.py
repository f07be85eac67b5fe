"""Functions that are programs on whole operands, whatever they are written with."""

import math
from typing import Any

import numpy as np
import pytest
import torch

import tile2triton
import tile2triton.language as T
from tile2triton.language import relu


def helper(x):
    return T.relu(x) + 1


@tile2triton.kernel
def stored(y, x):
    y[...] = x


@tile2triton.kernel
def increased(x):
    x += 1
    return x


@tile2triton.kernel
@T.vectorize(width=4)
def annotated(x):
    return x + x


@tile2triton.kernel
def part(x):
    return x[:, 1:3]


@tile2triton.kernel
def positive(x):
    return x > 0


@tile2triton.kernel
def turned(x):
    return x.T


@tile2triton.kernel
def by_root(x):
    return x * math.sqrt(x.shape[0])


@tile2triton.kernel
def by_helper(x):
    return helper(x)


@tile2triton.kernel
def by_late_helper(x):
    return late(x)


@tile2triton.kernel
def by_own_function(x):
    def twice(a):
        return T.relu(a) * 2

    return twice(x) + 1


@tile2triton.kernel
def by_operator(x):
    return relu(x)


@tile2triton.kernel
def by_parameter(x, function):
    return function(x)


def late(x):
    return x - 1


PROGRAMS = [
    (increased, lambda x: x + 1),
    (annotated, lambda x: x + x),
    (part, lambda x: x[:, 1:3]),
    (positive, lambda x: x > 0),
    (turned, lambda x: x.T),
    (by_root, lambda x: x * x.shape[0] ** 0.5),
    (by_helper, lambda x: x.relu() + 1),
    (by_late_helper, lambda x: x - 1),
    (by_own_function, lambda x: x.relu() * 2 + 1),
    (by_operator, torch.relu),
]


@pytest.mark.parametrize(("program", "torchs"), PROGRAMS)
def test_what_computes_is_a_program(program: Any, torchs: Any) -> None:
    x = torch.randn(5, 4)
    before = x.clone()
    made, expected = program(x), torchs(before)
    assert torch.equal(x, before)
    assert made.dtype == expected.dtype
    assert torch.allclose(made, expected)
    np.testing.assert_allclose(program.reference(x.numpy()), expected.numpy(), rtol=1e-6)
    assert torch.allclose(tile2triton.transpile(program, x)(x), expected)


def test_a_store_is_a_program() -> None:
    x, y = torch.randn(5), torch.zeros(5)
    assert stored(y, x) is None
    assert torch.equal(x, y)


def test_a_function_may_be_a_parameter() -> None:
    x = torch.randn(5)
    assert torch.equal(by_parameter(x, helper), x.relu() + 1)
    assert torch.equal(by_parameter(x, late), x - 1)


@tile2triton.kernel
def decides(x):
    return x and x


@tile2triton.kernel
def between(x):
    return 0 < x < 1


@tile2triton.kernel
def nothing(x):
    T.relu(x)


@pytest.mark.parametrize(("program", "code"), [(decides, 803), (between, 803), (nothing, 805)])
def test_what_is_no_program_is_refused(program: Any, code: int) -> None:
    with pytest.raises(tile2triton.TileError) as error:
        program(torch.ones(3))
    assert [one.code for one in error.value.diagnostics] == [f"T2T{code}"]
    assert error.value.diagnostics[0].filename == __file__


def make(n: int) -> Any:
    @T.prim_func
    def filled(X: T.Tensor((n,), "float32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(n):
                X[i] = n

    return filled


@tile2triton.kernel
def by_maker(n):
    return make(n)


@tile2triton.kernel
def by_later_maker(n):
    return later_make(n)


later_make = make


@pytest.mark.parametrize("factory", [by_maker, by_later_maker])
def test_what_returns_kernels_is_a_factory(factory: Any) -> None:
    x = torch.zeros(4)
    factory(4)(x)
    assert torch.equal(x, torch.full((4,), 4.0))
