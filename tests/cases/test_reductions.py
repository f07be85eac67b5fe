"""Reductions: widths that are no power of two (C1, C2), NaN (C13), padded rows (C15)."""

import numpy as np
import pytest
import torch

from tests.cases.agreement import expect, outcomes
from tests.cases.kernels.reductions import (
    exp_column_sums,
    reduce_columns,
    reduce_onto,
    reduce_rows,
    running_maxima,
)
from tile2triton.cli import main

WIDTHS = (1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 20, 24, 31, 32, 33, 48, 63, 64, 65, 96, 100, 127)
WIDTHS += (128, 129, 130)
IN_NUMPY = {
    "reduce_sum": lambda x, axis: x.sum(axis),
    "reduce_max": lambda x, axis: x.max(axis),
    "reduce_min": lambda x, axis: x.min(axis),
    "reduce_absmax": lambda x, axis: np.abs(x).max(axis),
    "reduce_abssum": lambda x, axis: np.abs(x).sum(axis),
}


def test_sum_of_one_to_48_is_1176():
    row = torch.arange(1, 49, dtype=torch.float32)[None]
    expect(reduce_rows(48, "reduce_sum"), (row,), 1176)


def test_maximum_of_negative_row_ignores_the_pad():
    row = -torch.arange(1, 49, dtype=torch.float32)[None]
    expect(reduce_rows(48, "reduce_max"), (row,), -1)


@pytest.mark.parametrize("operator", IN_NUMPY)
@pytest.mark.parametrize("width", WIDTHS)
def test_row_reduction_of_any_width(operator, width):
    # All values on one side of zero: a pad of zero would win a maximum or a minimum.
    sign = 1 if operator == "reduce_min" else -1
    rows = sign * (torch.randperm(3 * width).reshape(3, width).float() + 1)
    right = IN_NUMPY[operator](rows.numpy(), 1)
    expect(reduce_rows(width, operator, block_rows=2), (rows,), right, rtol=1e-6)


@pytest.mark.parametrize("operator", IN_NUMPY)
def test_row_reduction_of_every_width_up_to_130(operator):
    sign = 1 if operator == "reduce_min" else -1
    for width in range(1, 131):
        rows = sign * (torch.randperm(2 * width).reshape(2, width).float() + 1)
        kernel = reduce_rows(width, operator)
        right = IN_NUMPY[operator](rows.numpy(), 1)
        np.testing.assert_allclose(kernel.reference(rows.numpy()), right, rtol=1e-6)
        if torch.cuda.is_available():
            np.testing.assert_allclose(kernel(rows.cuda()).cpu().numpy(), right, rtol=1e-6)


@pytest.mark.parametrize("operator", IN_NUMPY)
@pytest.mark.parametrize(("height", "width"), [(5, 3), (24, 20), (33, 48), (41, 129)])
def test_column_reduction_of_any_height(operator, height, width):
    sign = 1 if operator == "reduce_min" else -1
    tile = sign * (torch.randperm(height * width).reshape(height, width).float() + 1)
    right = IN_NUMPY[operator](tile.numpy(), 0)
    expect(reduce_columns(height, width, operator), (tile,), right, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["int32", "float16", "bfloat16"])
@pytest.mark.parametrize("operator", IN_NUMPY)
def test_row_reduction_of_other_types(operator, dtype):
    sign = 1 if operator == "reduce_min" else -1
    rows = (sign * (torch.arange(3 * 20).reshape(3, 20) % 7 + 1)).to(getattr(torch, dtype))
    right = IN_NUMPY[operator](rows.float().numpy(), 1)
    expect(reduce_rows(20, operator, dtype=dtype), (rows,), right.astype(np.float64))


@pytest.mark.parametrize("width", [576, 768, 20])
def test_absmax_finds_one_value_at_every_position(width):
    one_in_each_row = torch.diag(torch.full((width,), -7.0))
    expect(reduce_rows(width, "reduce_absmax", block_rows=32), (one_in_each_row,), 7)


@pytest.mark.parametrize("operator", ["reduce_max", "reduce_min"])
def test_nan_is_ignored_by_default(operator):
    row = torch.tensor([[1.0, float("nan"), 3.0]])
    expect(reduce_rows(3, operator), (row,), 3 if operator == "reduce_max" else 1)


@pytest.mark.parametrize("operator", ["reduce_max", "reduce_min"])
@pytest.mark.parametrize("position", [0, 1, 2])
def test_nan_propagates_where_asked(operator, position):
    row = torch.tensor([[1.0, 2.0, 3.0]])
    row[0, position] = float("nan")
    expect(reduce_onto(3, -1.0, operator), (row,), float("nan"))


def test_nan_does_not_propagate_onto_a_start_where_not_asked():
    row = torch.tensor([[1.0, float("nan"), 3.0]])
    expect(reduce_onto(3, -1.0, nan_propagate=False), (row,), 3)


@pytest.mark.parametrize("start", [100.0, -100.0])
def test_reduction_combines_with_the_old_value(start):
    row = torch.tensor([[1.0, 2.0, 3.0, 4.0, 5.0]])
    expect(reduce_onto(5, start), (row,), max(start, 5.0))
    expect(reduce_onto(5, start, "reduce_min"), (row,), min(start, 1.0))
    expect(reduce_onto(5, start, "reduce_sum", nan_propagate=False), (row,), start + 15)


@pytest.mark.parametrize("how", ["safe value", "mask"])
@pytest.mark.parametrize("block_rows", [32, 24])
def test_rows_past_the_end_stay_out_of_a_sum_of_exp(how, block_rows):
    expect(exp_column_sums(41, 129, block_rows, 64, how), (torch.zeros(41, 129),), 41)


def test_padding_of_a_tile_stays_out_of_a_sum_of_exp():
    expect(exp_column_sums(41, 129, 41, 129, "exact tile"), (torch.zeros(41, 129),), 41)


def test_rows_past_the_end_are_zeros_in_every_way():
    # A plain copy reads zero past the end, and exp(0) = 1 counts: 64 rows are summed, everywhere.
    for way, (sums,) in outcomes(
        exp_column_sums(41, 129, 32, 64, "as read"), torch.zeros(41, 129)
    ).items():
        assert (sums == 64).all(), way


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_running_maxima_keep_their_narrow_type(dtype):
    values = (torch.randn(3, 8, 20) * 4).to(getattr(torch, dtype))
    by_element = values.amax(0)
    expect(running_maxima(3, 20, dtype), (values,), by_element.amax(1), by_element)


@pytest.mark.compile
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_running_maxima_compile(dtype, capsys):
    kernel = "tests/cases/kernels/reductions.py:running_maxima"
    sizes = ["--set", "steps=3", "--set", "width=20", "--set", f"dtype={dtype}"]
    assert main(["check", kernel, *sizes, "--target", "cuda:90"]) == 0, capsys.readouterr().err
