"""Names and arguments in programs on whole operands: what is right works, what is wrong says so."""

import linecache
from typing import Any

import numpy as np
import pytest
import torch

import tile2triton
import tile2triton.language as T
from tile2triton import Schedule


@tile2triton.kernel
def by_grid(x, grid):
    return x * grid


@tile2triton.kernel
def by_options(num_warps, num_stages, warmup=2.0):
    tl = num_warps * num_stages
    return tl * warmup


@tile2triton.kernel
def by_blocks(block_N, block_M):
    block_K = T.sum(block_N * block_M, axis=0)
    return block_K + 1


@tile2triton.kernel
def d(d):
    return T.exp(d)


@tile2triton.kernel
def N(x):
    return T.relu(x)


@tile2triton.kernel
def changed(grid, x):
    grid[...] = x + 1


NAMES: list[tuple[Any, Any]] = [
    (by_grid, lambda x, y: x * y),
    (by_options, lambda x, y: x * y * 2),
    (by_blocks, lambda x, y: (x * y).sum(0) + 1),
    (d, lambda x: x.exp()),
    (N, lambda x: x.relu()),
]


@pytest.mark.parametrize(("kernel", "torchs"), NAMES, ids=lambda one: one.__name__)
def test_parameters_have_any_name(kernel: Any, torchs: Any) -> None:
    for rows in (30, 17, 19):
        count = torchs.__code__.co_argcount
        given = [torch.randn(rows, 9) for _ in range(count)]
        expected = torchs(*given)
        assert torch.allclose(kernel(*given), expected, rtol=1e-4, atol=1e-5)
        meant = np.asarray(kernel.reference(*given), np.float32)
        np.testing.assert_allclose(meant, expected.numpy(), rtol=1e-4, atol=1e-5)


def test_a_parameter_that_changes_has_any_name() -> None:
    grid, x = torch.zeros(5), torch.randn(5)
    changed(grid, x)
    assert torch.equal(grid, x + 1)
    changed(grid=grid, x=x + 1)
    assert torch.equal(grid, x + 1 + 1)


@tile2triton.kernel
def in_types(x):
    return (
        T.cast(x, torch.float16),
        x.to(torch.bfloat16),
        T.zeros_like(x, torch.int32),
        x.to("half"),
    )


def test_types_are_written_in_any_way() -> None:
    made = in_types(torch.randn(3, 4))
    assert [one.dtype for one in made] == [
        torch.float16,
        torch.bfloat16,
        torch.int32,
        torch.float16,
    ]


def itself(x):
    return again(T.relu(x))


again = tile2triton.kernel(itself)


@tile2triton.kernel
def first(x):
    return second(x) + 1


@tile2triton.kernel
def second(x):
    return first(x) * 2


WRONG: list[tuple[Any, str, str]] = [
    (lambda x: T.softmax(x, mask="foo"), "T2T880", "there is no mask 'foo'"),
    (lambda x: T.softmax(x[0, :], mask=T.causal), "T2T880", "has one dimension"),
    (lambda x: T.softmax(x, axis=(-1, -2)), "T2T808", r"an axis is a whole number, not \(-1, -2\)"),
    (lambda x: T.sum(x, axis="rows"), "T2T808", "an axis is a whole number, not 'rows'"),
    (lambda x: T.cumsum(x, axis=True), "T2T808", "an axis is a whole number, not True"),
    (lambda x: T.cast(x, "float7"), "T2T202", "`float7` is no element type"),
    (lambda x: x.to(7), "T2T202", "`7` is no element type"),
    (itself, "T2T881", "calls itself"),
    (lambda x: first(x), "T2T881", "`first` calls itself"),
]


@tile2triton.kernel
def applied(x, function):
    return function(x)


@pytest.mark.parametrize(("function", "code", "message"), WRONG)
def test_a_wrong_argument_is_refused_at_its_line(function: Any, code: str, message: str) -> None:
    with pytest.raises(tile2triton.TileError, match=message) as error:
        applied(torch.ones(3, 4), function)
    (found,) = error.value.diagnostics
    assert (found.code, found.filename) == (code, __file__)
    assert "(" in linecache.getline(__file__, found.line)[found.column - 1 :]


def relu(x):
    return T.relu(x)


SCHEDULES: list[tuple[Any, str]] = [
    (lambda: tile2triton.kernel(schedule="gemm"), "`'gemm'` is no schedule"),  # type: ignore[call-overload]
    (lambda: tile2triton.kernel(schedule={"warps": 4}), "is no schedule"),  # type: ignore[call-overload]
    (lambda: Schedule(warps=4) | 3, "`3` is no schedule"),  # type: ignore[operator]
    (lambda: Schedule(name=3), "the name of a schedule is text, not 3"),  # type: ignore[arg-type]
    (lambda: Schedule(warps=8, parallel={"block": (128, 1)}), "says threads = 128, where another"),
    (lambda: Schedule.from_dict({"warps": 8, "parallel": 128}), "says threads = 128"),
    (lambda: T.tile(m=32, M=64), "`m` and `M` are one extent"),
    (lambda: T.tile(m=32)(T.tile(M=64)(relu)), "says m = 32, where another annotation says 64"),
    (
        lambda: tile2triton.kernel(schedule=Schedule(tile={"m": 128}))(T.tile(M=64)(copied())),
        "the schedule says m = 128, where an annotation says 64",
    ),
]


def copied() -> Any:
    """A function of its own, which no other annotation stands above."""

    def product(A, B):
        return T.gemm(A, B)

    return product


@pytest.mark.parametrize(("make", "message"), SCHEDULES)
def test_a_schedule_contradicts_nothing(make: Any, message: str) -> None:
    with pytest.raises(tile2triton.TileError, match=message) as error:
        make()
    assert error.value.diagnostics[0].filename == __file__


def test_a_schedule_may_say_the_same_twice() -> None:
    assert Schedule(warps=4, parallel={"block": (128, 1)}).for_target("cuda:90").threads == 128
    kernel = tile2triton.kernel(schedule=Schedule(tile={"n": 64}))(T.tile(m=32)(copied()))
    again = kernel.scheduled(Schedule(tile={"m": 64}))
    shapes = T.Tensor((128, 64), "float16"), T.Tensor((64, 128), "float16")
    assert "block_M = 32" in kernel.compile(*shapes).triton_source  # type: ignore[union-attr]
    assert "block_M = 64" in again.compile(*shapes).triton_source  # type: ignore[union-attr]
