"""Loops over tiles in programs on whole operands: what would not be done as written is refused."""

import linecache
from typing import Any

import numpy as np
import pytest
import torch

import tile2triton
import tile2triton.language as T


@tile2triton.kernel
def reads_before(x):
    h = T.zeros_like(x[0, :])
    y = T.empty_like(x)
    for i in range(0, x.shape[0], 16):
        y[i : i + 16, :] = x[i : i + 16, :] + h
        h = 0.5 * h + x[i : i + 16, :]
    return y


@tile2triton.kernel
def largest_before(x):
    m = T.full_like(x[0, :], -9.0)
    y = T.empty_like(x)
    for i in range(0, x.shape[0], 16):
        y[i : i + 16, :] = T.max(m, x[i : i + 16, :]) - 1
        m = T.max(m, x[i : i + 16, :] * 2)
    return y


@tile2triton.kernel
def other_state(x):
    h = T.zeros_like(x[0, :])
    y = T.empty_like(x)
    for i in range(0, x.shape[0], 16):
        g = h * 2 + x[i : i + 16, :]
        h = h + x[i : i + 16, :]
        y[i : i + 16, :] = g
    return y


@tile2triton.kernel
def total_inside(x):
    s = T.zeros_like(x[0, :])
    y = T.empty_like(x)
    for i in range(0, x.shape[0], 2):
        s = s + T.sum(x[i : i + 2, :], axis=0)
        y[i : i + 2, :] = x[i : i + 2, :] / s
    return y


@tile2triton.kernel
def total_of_total(x):
    s = T.zeros_like(x[0, :])
    t = T.zeros_like(x[0, :])
    for i in range(0, x.shape[0], 2):
        s = s + T.sum(x[i : i + 2, :], axis=0)
        t = t + s
    return t


@tile2triton.kernel
def added_total(x):
    s = T.zeros_like(x[0, :])
    y = T.empty_like(x)
    for i in range(0, x.shape[0], 2):
        T.atomic_add(s, T.sum(x[i : i + 2, :], axis=0))
        y[i : i + 2, :] = x[i : i + 2, :] - s
    return y


@tile2triton.kernel
def starts_anew(x):
    s = T.zeros_like(x[0, :])
    for i in range(0, x.shape[0], 2):
        s[...] = T.zeros_like(x[0, :])
        T.atomic_add(s, T.sum(x[i : i + 2, :], axis=0))
    return s


@tile2triton.kernel
def first_tile(x):
    s = T.zeros_like(x[0, :])
    for i in range(0, x.shape[0], 16):
        if i == 0:
            s = s + T.sum(x[i : i + 16, :], axis=0)
    return s


@tile2triton.kernel
def leaves(x):
    s = T.zeros_like(x[0, :])
    for i in range(0, x.shape[0], 16):
        s = s + T.sum(x[i : i + 16, :], axis=0)
        break
    return s


@tile2triton.kernel
def goes_on(x):
    s = T.zeros_like(x[0, :])
    for _ in range(2):
        for i in range(0, x.shape[0], 16):
            s = s + T.sum(x[i : i + 16, :], axis=0)
            continue
    return s


@tile2triton.kernel
def sum_kept(x):
    p = []
    for i in range(0, x.shape[0], 16):
        p.append(T.sum(x[i : i + 16, :], axis=0))
    return p[0]


@tile2triton.kernel
def tile_kept(x):
    p = []
    for i in range(0, x.shape[0], 16):
        p.append(T.exp(x[i : i + 16, :]))
    return x, p[0]


@tile2triton.kernel
def tile_leaks(x):
    for i in range(0, x.shape[0], 16):
        t = T.exp(x[i : i + 16, :])
    return x, t


REFUSED = [
    (reads_before, "T2T854", "x[i : i + 16, :] + h"),
    (largest_before, "T2T854", "T.max(m, x[i : i + 16, :])"),
    (other_state, "T2T854", "h * 2 + x[i : i + 16, :]"),
    (total_inside, "T2T854", "x[i : i + 2, :] / s"),
    (total_of_total, "T2T854", "t + s"),
    (added_total, "T2T854", "x[i : i + 2, :] - s"),
    (starts_anew, "T2T859", "s[...] = T.zeros_like(x[0, :])"),
    (first_tile, "T2T853", "i == 0"),
    (leaves, "T2T853", "break"),
    (goes_on, "T2T853", "continue"),
    (sum_kept, "T2T855", "p[0]"),
    (tile_kept, "T2T855", "p[0]"),
    (tile_leaks, "T2T120", "t"),
]


@pytest.mark.parametrize(
    ("kernel", "code", "text"), REFUSED, ids=lambda one: getattr(one, "__name__", "")
)
def test_an_error_names_the_line(kernel: Any, code: str, text: str) -> None:
    with pytest.raises(tile2triton.TileError) as error:
        kernel(torch.ones(37, 2))
    (found,) = error.value.diagnostics
    assert found.code == code
    line = linecache.getline(__file__, found.line)
    assert line[found.column - 1 :].startswith(text)


@tile2triton.kernel
def renamed(x):
    h = T.zeros_like(x[..., 0, :])
    y = T.empty_like(x)
    for i in range(0, x.shape[-2], 16):
        new = T.fma(0.5, h, x[..., i : i + 16, :])
        y[..., i : i + 16, :] = new + 1
        h = new
    return y, h


@tile2triton.kernel
def totals(x):
    s = T.zeros_like(x[..., 0, :])
    m = T.full_like(x[..., 0, :], -9.0)
    for i in range(0, x.shape[-2], 16):
        tile = x[..., i : i + 16, :]
        s = s + T.sum(tile, axis=-2)
        m = T.max(m, T.amax(tile * T.where(i + T.arange(16) < 3, 1, 2)[:, None], axis=-2))
    return s / m


@pytest.mark.parametrize("shape", [(3, 1, 5), (1, 1, 5), (2, 20, 3), (1, 3)], ids=str)
@pytest.mark.parametrize("kernel", [renamed, totals], ids=lambda one: one.__name__)
def test_an_extent_of_one_is_a_loop_too(kernel: Any, shape: tuple[int, ...]) -> None:
    x = torch.randn(shape)
    made, meant = kernel(x), kernel.reference(x.numpy())
    h = torch.zeros_like(x[..., 0, :])
    states = []
    for at in range(shape[-2]):
        h = 0.5 * h + x[..., at, :]
        states.append(h + 1)
    twice = x * torch.where(torch.arange(shape[-2]) < 3, 1, 2)[:, None]
    expected = [torch.stack(states, -2), h]
    if kernel is totals:
        made, meant = (made,), (meant,)
        expected = [x.sum(-2) / twice.amax(-2).clamp(min=-9.0)]
    for one, other, wanted in zip(made, meant, expected, strict=True):
        np.testing.assert_allclose(one.numpy(), wanted.numpy(), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(np.asarray(other), wanted.numpy(), rtol=1e-4, atol=1e-5)
