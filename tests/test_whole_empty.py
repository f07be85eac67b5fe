"""Reductions of whole operands without elements, or of one number: what torch gives."""

import pytest
import torch

import tile2triton
import tile2triton.language as T
from tests.test_whole_operands import DTYPES, check
from tile2triton.diagnostics import TileError


@tile2triton.kernel
def reduced(x):
    return T.sum(x, axis=-1), T.mean(x, axis=-1, keepdims=True), T.any(x, axis=-1)


@tile2triton.kernel
def of_rows(x):
    return T.softmax(x), T.cumsum(x), T.rms_norm(x)


@tile2triton.kernel
def others(x):
    return T.var(x, axis=-1), T.all(x, axis=(0, 1)), T.log_sum_exp(x), T.softmax(x.sum(axis=-1))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_sum_of_nothing_is_0_and_a_mean_is_nan(dtype, device, poisoned):
    x = torch.empty(5, 0, dtype=dtype)
    wide = x.double()
    expected = wide.sum(-1), wide.mean(-1, keepdim=True), (x != 0).any(-1)
    made = check(reduced, [x], expected, device)
    assert [one.dtype for one in made] == [dtype, dtype, torch.bool]


@pytest.mark.parametrize("shape", [(3, 0), (0, 3), (2, 0, 4)], ids=str)
def test_results_without_elements_need_none(shape, device):
    x = torch.empty(*shape)
    check(of_rows, [x], (x.double(),) * 3, device)


def test_what_torch_gives_of_nothing_is_given(device):
    x = torch.empty(3, 0)
    hidden = torch.full((3,), -torch.inf)
    expected = hidden * torch.nan, torch.tensor(True), hidden, torch.full((3,), 1 / 3)
    check(others, [x], expected, device)


@tile2triton.kernel
def constants(x):
    half = T.full((x.shape[0],), 0.5)
    total = T.sum(half + T.zeros_like(x[0, 0:1])) + T.amax(half)
    return half, T.arange(x.shape[0]), x[0] * total, T.softmax(half)


def test_constants_and_positions_are_operands_as_others(device):
    x = torch.rand(20, 2)
    expected = torch.full((20,), 0.5), torch.arange(20), x[0] * 10.5, torch.full((20,), 0.05)
    check(constants, [x], expected, device)


@tile2triton.kernel
def greatest(x, kind):
    if kind == "amax":
        return T.amax(x, axis=-1)
    return T.argmin(x) if kind == "argmin" else T.reduce("min", x, axis=0)


@pytest.mark.parametrize(
    ("shape", "kind", "axis"), [((4, 0), "amax", 1), ((2, 0), "argmin", 1), ((0, 2), "min", 0)]
)
def test_an_extreme_of_nothing_is_refused_where_it_stands(shape, kind, axis):
    with pytest.raises(TileError) as caught:
        greatest(torch.empty(*shape), kind)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.filename) == ("T2T841", __file__)
    assert f"x is empty along its axis {axis}" in diagnostic.message
