"""Scans, loops over tiles and stores of whole operands: all meanings are torch's."""

import numpy as np
import pytest
import torch

import tile2triton
import tile2triton.language as T
from tests.test_whole_operands import DTYPES, attended, check, normal
from tile2triton.diagnostics import TileError


def recurrence(a, b, start, axis):
    """h_t = a_t h_{t-1} + b_t, in float64."""
    a, b = torch.broadcast_tensors(a.double(), b.double())
    states, state = [], start
    for t in range(b.shape[axis]):
        state = a.select(axis, t) * state + b.select(axis, t)
        states.append(state)
    return torch.stack(states, axis)


@tile2triton.kernel
def rolling(x, decay):
    h = 0.0
    y = T.empty_like(x)
    for i in range(0, x.shape[-2], 16):
        x_tile = T.copy(x[..., i : i + 16, :])
        with T.Pipelined(num_stages=3):
            h = T.fma(decay, h, x_tile * (1.0 - decay))
        T.atomic_update(y[..., i : i + 16, :], h)
    return y, h


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(2, 32, 64), (37, 50), (3, 2, 5, 7)], ids=str)
def test_a_loop_over_tiles_is_the_recurrence_along_its_extent(shape, dtype, device, poisoned):
    x, decay = normal(*shape, dtype=dtype), torch.rand(shape[-1])
    decay = decay.to(dtype)
    expected = recurrence(decay, x.double() * (1 - decay.double()), 0.0, len(shape) - 2)
    made = check(rolling, [x, decay], (expected, expected.select(-2, -1)), device)
    assert made[0].dtype == dtype


def test_stages_are_those_of_the_loops_that_compute_what_is_assigned():
    program = rolling.compile(T.Tensor((2, 64, 64), "float16"), T.Tensor((64,), "float16"))
    assert "in T.Pipelined(L, num_stages=3):" in program.after("tile_operands")


@tile2triton.kernel
def started(a, b, start):
    h = start
    for i in range(0, a.shape[0], 8):
        h = h * a[i : i + 8, :] + b[i : i + 8, :]
    return h


@tile2triton.kernel
def scanned(a, b, start):
    states = T.linear_scan(a, b, start, axis=0)
    return states * 2, states[-1]


def test_a_recurrence_goes_on_from_a_state(device):
    a, b = torch.rand(21, 40), normal(21, 40, dtype=torch.float32)
    start = normal(40, dtype=torch.float32)
    expected = recurrence(a, b, start.double(), 0)
    check(started, [a, b, start], expected[-1], device)
    check(scanned, [a, b, start], (expected * 2, expected[-1]), device)


@tile2triton.kernel
def cumulative(x):
    sums, products = T.cumsum(x, axis=-2), T.cumprod(x, axis=-2)
    return sums, products, T.cummax(x, axis=-2), T.scan("min", x, axis=-2)


def test_what_columns_come_to_up_to_each_row(device):
    x = normal(2, 9, 33, dtype=torch.float32)
    wide = x.double()
    expected = wide.cumsum(-2), wide.cumprod(-2), wide.cummax(-2)[0], wide.cummin(-2)[0]
    check(cumulative, [x], expected, device)


@tile2triton.kernel
def along_rows(x):
    sums = T.cumsum(x * 2, axis=-1)
    return sums, sums / sums[..., -1:], T.cummax(x, axis=-1), sums[..., -1]


@pytest.mark.parametrize("shape", [(5, 33), (3, 2, 200), (1, 70)], ids=str)
def test_rows_are_scanned_in_tiles(shape, device, poisoned):
    x = torch.rand(*shape)
    sums = 2 * x.double().cumsum(-1)
    expected = sums, sums / sums[..., -1:], x.double().cummax(-1)[0], sums[..., -1]
    check(along_rows, [x], expected, device)
    assert "T.serial" not in along_rows.compile(x).after("tile_operands")


@tile2triton.kernel
def greatest(x, floor):
    peak = floor
    y = T.zeros_like(x)
    for i in range(0, x.shape[-2], 4):
        peak = T.max(peak, x[..., i : i + 4, :])
        y[..., i : i + 4, :] = peak
    return y


def test_the_largest_so_far_is_carried(device):
    x, floor = normal(2, 9, 33), normal(33, seed=1)
    expected = torch.maximum(x.double().cummax(-2)[0], floor.double())
    check(greatest, [x, floor], expected, device)


@tile2triton.kernel
def two_sweeps(x):
    sums = T.cumsum(x, axis=-2)
    return sums / sums[..., -1:, :]


def test_what_needs_the_last_state_runs_twice(device):
    x = torch.rand(2, 9, 33)
    sums = x.double().cumsum(-2)
    check(two_sweeps, [x], sums / sums[:, -1:], device)


@tile2triton.kernel
def projected(A, B):
    total = 0.0
    for k in range(0, A.shape[-1], 32):
        total = total + T.gemm(A[:, k : k + 32], B[k : k + 32, :], transpose_B=False)
    return total


def test_products_of_tiles_add_up_to_the_product(device):
    a, b = normal(40, 70), normal(70, 33)
    check(projected, [a, b], a.double() @ b.double(), device)


@tile2triton.kernel
def flash_attention(Q, K, V):
    with T.Pipelined(num_stages=3):
        S = T.gemm(Q, K, transpose_B=True)
        P = T.softmax(S, scale=0.25)
        O = T.gemm(P, V)
    return O


@tile2triton.kernel
def attention_with_residual(Q, K, V, residual):
    attn_out = flash_attention(Q, K, V)
    return T.atomic_add(attn_out, residual)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_adding_to_what_was_computed_is_a_sum(dtype, device):
    q, k, v = (normal(2, 50, 16, dtype=dtype, seed=seed) for seed in range(3))
    residual = normal(2, 50, 16, dtype=dtype, seed=3)
    expected = attended(q[:, None], k[:, None], v[:, None])[:, 0] + residual.double()
    check(attention_with_residual, [q, k, v, residual], expected, device)
    program = attention_with_residual.compile(q, k, v, residual).after("tile_operands")
    assert "num_stages=3" in program
    assert "atomic" not in program


@tile2triton.kernel
def added(C, x):
    T.atomic_add(C, x)


@tile2triton.kernel
def updated(C, x):
    T.atomic_update(C, x * 2)
    return C


@pytest.mark.parametrize("shape", [(3, 40), (40,), (1, 40)], ids=str)
def test_a_parameter_changes_in_place(shape, device):
    c, x = normal(*shape), normal(3, 40, seed=1)
    there, meant = c.clone().to(device), c.clone()
    assert added(there, x.to(device)) is None
    assert added.reference(meant, x) is None
    total = x.double() if shape == (3, 40) else x.double().sum(0).expand(shape)
    for found in (there.cpu(), meant):
        assert torch.allclose(found.double(), c.double() + total, rtol=2e-3, atol=2e-3)


def test_a_parameter_that_is_returned_is_itself(device):
    c, x = normal(3, 40).to(device), normal(3, 40, seed=1).to(device)
    assert updated(c, x) is c
    assert torch.equal(c, x * 2)
    assert np.array_equal(updated.reference(c.cpu(), x.cpu()), (x * 2).cpu().numpy())


def refusal(kernel, *arguments):
    with pytest.raises(TileError) as caught:
        kernel.compile(*arguments)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.filename == __file__
    return diagnostic


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (lambda x: T.cumsum(x, axis=1)[:, 3], "T2T850"),
        (lambda x: T.cumsum(T.cumsum(x, axis=0), axis=1), "T2T851"),
        (lambda x: T.gemm(T.cumsum(x, axis=1), x, transpose_B=True), "T2T851"),
        (lambda x: T.scan("mean", x), "T2T852"),
        (lambda x: T.empty_like(x) + x, "T2T856"),
        (lambda x: T.atomic_update(T.empty_like(x[0]), x), "T2T857"),
        (lambda x: T.atomic_update(x[0], x[1]), "T2T859"),
        (lambda x: T.Pipelined(stages=3), "T2T860"),
        (lambda x: T.atomic_add(x, x[:1]), "T2T861"),
    ],
)
def test_what_scans_and_stores_cannot_do_is_refused(body, code):
    def function(x):
        T.relu(x)
        return body(x)

    found = refusal(tile2triton.kernel(function), T.Tensor((4, 100, 100), "float16"))
    assert found.code == code


def loops_that_are_none(x, which):
    h = T.relu(x[..., 0, :]) * 0
    for i in range(0 if which != 0 else 8, x.shape[-2], 16):
        if which == 1:
            tile = x[..., i : i + 8, :]
        elif which == 2:
            tile = x[..., i : i + 16]
        elif which == 3:
            tile = x * i
        elif which == 4:
            tile = T.relu(x[..., i : i + 16, :]) + x
        elif which == 5:
            tile = T.softmax(x[..., i : i + 16, :], axis=-2)
        elif which == 6:
            tile = x[..., i : i + 16, :][..., 0, :]
        elif which == 7:
            h = T.exp(h)
        elif which == 8:
            h = (h + x[..., i : i + 16, :]) * 2
        elif which == 9:
            T.atomic_add(x, 1)
        elif which == 10:
            tile = T.cumsum(x[..., i : i + 16, :], axis=-2)
            tile = T.relu(tile)
    return h


@pytest.mark.parametrize(
    ("which", "code"),
    [
        (0, "T2T853"),
        (1, "T2T853"),
        (2, "T2T853"),
        (3, "T2T853"),
        (4, "T2T855"),
        (5, "T2T855"),
        (6, "T2T855"),
        (7, "T2T854"),
        (8, "T2T854"),
        (9, "T2T858"),
        (10, "T2T855"),
    ],
)
def test_a_loop_whose_result_depends_on_the_tiles_is_refused(which, code):
    kernel = tile2triton.kernel(loops_that_are_none)
    assert refusal(kernel, T.Tensor((4, 100, 50), "float16"), which).code == code


@tile2triton.kernel
def along_long_rows(a, b):
    h = T.linear_scan(a, b, axis=-1)
    return h, h[..., -1:] * 1, T.cumprod(a, axis=-1), T.scan("min", b, axis=-1)


@pytest.mark.parametrize("shape", [(5, 33), (2, 3, 1300)], ids=str)
def test_tiles_of_rows_are_scanned_with_a_state_between_them(shape, device, poisoned):
    a, b = torch.rand(*shape) / 2 + 0.5, normal(*shape, dtype=torch.float32)
    h = recurrence(a, b, 0.0, len(shape) - 1)
    wide = b.double().cummin(-1)[0]
    check(along_long_rows, [a, b], (h, h[..., -1:], a.double().cumprod(-1), wide), device)


@pytest.mark.parametrize("length", [37, 64])
def test_a_tile_size_for_the_scanned_extent_makes_it_an_associative_scan(length, device):
    tiled = scanned.scheduled(tile2triton.Schedule(tile={"L": 16}))
    a, b = torch.rand(length, 40), normal(length, 40, dtype=torch.float32)
    start = normal(40, dtype=torch.float32)
    expected = recurrence(a, b, start.double(), 0)
    check(tiled, [a, b, start], (expected * 2, expected[-1]), device)
    assert "tl.associative_scan(" in tiled.compile(a, b, start).triton_source


@tile2triton.kernel
def two_layers(x, a):
    first, second, total = 0.0, T.zeros_like(x[:, 0, :]), 0.0
    y = T.empty_like(x)
    for i in range(0, x.shape[1], 8):
        is_third = (i + T.arange(8)) % 3 == 0
        first = a * first + T.where(is_third[:, None], x[:, i : i + 8, :], 0.0)
        second = T.fma(a, second, first)
        y[:, i : i + 8, :] = second - first
        total = total + T.sum(second, axis=1)
    return y, first, total


def test_recurrences_of_recurrences_and_totals_share_a_loop(device):
    x, a = normal(2, 21, 13, dtype=torch.float32), torch.rand(13)
    thirds = x.double() * (torch.arange(21) % 3 == 0)[:, None]
    first = recurrence(a, thirds, 0.0, 1)
    second = recurrence(a, first, 0.0, 1)
    check(two_layers, [x, a], (second - first, first[:, -1], second.sum(1)), device)
    assert two_layers.compile(x, a).after("tile_operands").count("T.Pipelined") == 1


@tile2triton.kernel
def scanned_in_place(x):
    h = 0.0
    for i in range(0, x.shape[0], 8):
        h = h * 0.5 + x[i : i + 8, :]
        T.atomic_update(x[i : i + 8, :], h)


def test_a_parameter_is_scanned_in_place(device):
    x = normal(21, 40, dtype=torch.float32)
    expected = recurrence(torch.tensor(0.5), x, 0.0, 0).float()
    there, meant = x.clone().to(device), x.clone()
    assert scanned_in_place(there) is None
    scanned_in_place.reference(meant)
    assert torch.allclose(there.cpu(), expected, atol=1e-5)
    assert torch.allclose(meant, expected, atol=1e-5)
