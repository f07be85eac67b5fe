"""NaN in programs on whole operands: what has one in it is NaN, as in torch."""

import math

import pytest
import torch

import tile2triton
import tile2triton.language as T
from tests.test_whole_operands import DTYPES, attended, attention, check, normal
from tile2triton import Schedule


@tile2triton.kernel
def extremes(x):
    return T.amax(x, axis=-1), T.reduce("min", x, axis=0), T.relu(x), T.maximum(x, 0.5)


@tile2triton.kernel
def of_rows(x):
    return T.softmax(x), T.log_softmax(x), T.log_sum_exp(x)


@tile2triton.kernel
def in_steps(x):
    weights = T.exp(x - T.amax(x, axis=-1, keepdims=True))
    return weights / T.sum(weights, axis=-1, keepdims=True), T.max(x, axis=-1)


@tile2triton.kernel
def places(x):
    return T.argmax(x), T.argmin(x, axis=0)


def rows(dtype=torch.float32, width=40):
    """Rows with a NaN at the start, inside, at the end, beside infinities, alone, and without."""
    x = normal(7, width, dtype=dtype)
    x[0, 0] = x[1, width // 2] = x[2, -1] = x[3, 3] = math.nan
    x[3, 4], x[3, 5] = math.inf, -math.inf
    x[4] = math.nan
    x[5] = -math.inf
    x[5, -2] = math.nan
    return x


# A row at once, and in tiles.
SCHEDULES = [None, Schedule(tile={"N": 16})]


@pytest.mark.parametrize("schedule", SCHEDULES, ids=["whole", "tiles"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_an_extreme_of_what_has_a_nan_is_nan(dtype, schedule, device, poisoned):
    x = rows(dtype)
    wide = x.double()
    half = torch.full_like(wide, 0.5)
    expected = wide.amax(-1), wide.amin(0), wide.relu(), torch.maximum(wide, half)
    check(extremes.scheduled(schedule or Schedule()), [x], expected, device)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=["whole", "tiles"])
def test_a_row_with_a_nan_is_nan(schedule, device, poisoned):
    x = rows()
    wide = x.double()
    expected = wide.softmax(-1), wide.log_softmax(-1), wide.logsumexp(-1)
    check(of_rows.scheduled(schedule or Schedule()), [x], expected, device)
    check(in_steps.scheduled(schedule or Schedule()), [x], (expected[0], wide.amax(-1)), device)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=["whole", "tiles"])
def test_the_first_nan_is_the_greatest_and_the_smallest(schedule, device, poisoned):
    x = rows()
    x[:, 1] = 0.0
    expected = x.argmax(-1).int(), x.argmin(0).int()
    check(places.scheduled(schedule or Schedule()), [x], expected, device)


@tile2triton.kernel
def top(x):
    return T.topk(x, 4)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=["whole", "tiles"])
@pytest.mark.parametrize("kind", ["nan", "equal", "integers"])
def test_the_greatest_stand_in_the_order_of_their_indices(kind, schedule, device, poisoned):
    x = rows() if kind == "nan" else normal(5, 40, dtype=torch.float32).round()
    if kind == "equal":
        x[0] = -math.inf
        x[1, ::7] = math.inf
    x = x.int() if kind == "integers" else x
    order = x.sort(dim=-1, descending=True, stable=True)
    expected = order.values[:, :4].double(), order.indices[:, :4].int()
    check(top.scheduled(schedule or Schedule()), [x], expected, device)


@tile2triton.kernel
def summed(x):
    return T.log_sum_exp(x)


@tile2triton.kernel
def largest_of_tiles(x):
    greatest = T.full((x.shape[1],), -math.inf)
    for i in range(0, x.shape[0], 4):
        greatest = T.max(greatest, T.amax(x[i : i + 4, :], axis=0))
    return greatest, T.cumsum(x, axis=0)


def test_a_nan_in_one_tile_of_a_loop_is_kept(device):
    x = normal(11, 30, dtype=torch.float32)
    x[5, 7] = math.nan
    check(largest_of_tiles, [x], (x.double().amax(0), x.double().cumsum(0)), device)


@pytest.mark.parametrize("mask", [None, "causal"])
def test_a_query_with_a_nan_attends_to_nothing_known(mask, device):
    q, k, v = (normal(2, 40, 16, seed=seed) for seed in range(3))
    q[1, 3, 2] = math.nan
    visible = torch.ones(40, 40, dtype=torch.bool).tril() if mask else None
    check(attention, [q, k, v, mask], attended(q, k, v, visible), device)


def test_a_split_maximum_keeps_a_nan(device):
    @tile2triton.kernel(schedule=Schedule(split=("N", 3), tile={"N": 32}))
    def greatest(x):
        return T.amax(x, axis=-1)

    x = rows(width=200)
    check(greatest, [x], x.double().amax(-1), device)


@pytest.mark.parametrize("schedule", SCHEDULES, ids=["whole", "tiles"])
def test_the_logarithm_of_a_sum_with_infinity_is_infinite(schedule, device, poisoned):
    x = normal(4, 40, dtype=torch.float32)
    x[0, 30] = x[1, 0] = x[1, 39] = x[2, 5] = math.inf
    x[1, 3], x[2, 8], x[3] = -math.inf, math.nan, -math.inf
    check(summed.scheduled(schedule or Schedule()), [x], x.double().logsumexp(-1), device)
