"""What a program on whole operands reads from around it is what it is in each call."""

import math
from typing import Any

import pytest
import torch
import triton

import tile2triton
import tile2triton.language as T

FACTOR: Any = 2.0
SHIFT = 1.0


class Settings:
    scale = 1.0


SETTINGS = Settings()


def shifted(x):
    return x + SHIFT


@tile2triton.kernel
def scaled(x):
    return T.relu(x) * FACTOR


@tile2triton.kernel
def by_helper(x):
    return shifted(T.relu(x)) * math.pi


@tile2triton.kernel
def of_kernel(x):
    return T.exp(scaled(x))


@tile2triton.kernel
def by_global_object(x):
    return T.relu(x) * SETTINGS.scale


@tile2triton.kernel
def by_argument(x, settings):
    return T.relu(x) * settings.scale


def test_a_global_is_that_of_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.ones(3)
    for factor in (2.0, 3.0, 3, 2.0, True, 0.0, -0.0, float("inf")):
        monkeypatch.setitem(globals(), "FACTOR", factor)
        for _ in range(2):
            assert torch.equal(scaled(x), x * factor)
            # Triton 3.6 makes 0.0 of the literal -0.0.
            if factor or not triton.__version__.startswith("3.6"):
                assert math.copysign(1, scaled(x)[0]) == math.copysign(1, factor)
        assert torch.allclose(of_kernel(x), torch.exp(x * factor))


def test_a_global_of_what_is_called_is_that_of_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.ones(3)
    for shift in (1.0, 4.0, 1.0):
        monkeypatch.setitem(globals(), "SHIFT", shift)
        assert torch.allclose(by_helper(x), (x + shift) * math.pi)
    monkeypatch.setitem(globals(), "shifted", lambda x: x - 5)
    assert torch.allclose(by_helper(x), (x - 5) * math.pi)


def test_attributes_of_objects_are_those_of_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    x, settings = torch.ones(3), Settings()
    for scale in (1.0, 4.0, 1.0):
        settings.scale = scale
        monkeypatch.setattr(SETTINGS, "scale", scale, raising=False)
        assert torch.equal(by_argument(x, settings), x * scale)
        assert torch.equal(by_global_object(x), x * scale)
    monkeypatch.setattr(Settings, "scale", 7.0)
    assert torch.equal(by_argument(x, Settings()), x * 7)


def test_a_known_call_makes_no_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "FACTOR", 2.5)
    scaled(torch.ones(3))

    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("the call is not looked up")

    entry = type(scaled).__call__
    monkeypatch.setitem(entry.__globals__, "_missed", never)
    assert scaled(torch.ones(3))[0] == 2.5
    monkeypatch.setitem(globals(), "FACTOR", 2.75)
    with pytest.raises(AssertionError, match="not looked up"):
        scaled(torch.ones(3))
