"""Calls of tuned kernels: after the first ones, a look-up of the launcher and no more."""

import pytest
import torch

import tile2triton
import tile2triton.language as T
from tile2triton.diagnostics import TileError
from tile2triton.tune.autotune import AutotunedKernel
from tile2triton.tune.request import TuningError


def scaled():
    @tile2triton.autotune(configs=[{"block": 16}])
    @tile2triton.kernel
    def scale(A, factor, block):
        N = T.const("N")
        A: T.Tensor((N,), T.float32)
        B = T.empty((N,), T.float32)
        with T.Kernel(T.ceildiv(N, block), threads=32) as bx:
            for i in T.Parallel(block):
                B[bx * block + i] = A[bx * block + i] * factor
        return B

    return scale


@pytest.fixture
def asked(monkeypatch):
    """How often a kernel was looked for among those that were tuned."""
    found = []
    tuned = AutotunedKernel._tuned
    monkeypatch.setattr(
        AutotunedKernel, "_tuned", lambda *given, **named: found.append(1) or tuned(*given, **named)
    )
    return found


def test_known_arguments_are_looked_up_at_once(asked):
    scale = scaled()
    a = torch.arange(40.0)
    for _ in range(5):
        assert scale(a, 3).tolist() == (a * 3).tolist()
    # The first call, and twice the second, which finds the entry.
    assert len(asked) == 3
    assert scale(factor=3, A=a).tolist() == (a * 3).tolist()
    assert len(asked) == 3


def test_other_arguments_are_other_kernels(asked):
    scale = scaled()
    a = torch.arange(40.0)
    for factor in (3, 2, 3.0, True, 0.5, 3, True, float("inf"), 2):
        assert torch.equal(scale(a[1:], factor), a[1:] * factor)
    for length in (8, 24, 8):
        assert len(scale(a[:length], 3)) == length
    for _ in range(2):
        with pytest.raises(ValueError, match="contiguous"):
            scale(torch.arange(80.0)[::2], 3)
        with pytest.raises(TypeError, match="float32"):
            scale(a.double(), 3)


def test_what_is_tuned_may_be_given():
    scale = scaled()
    a = torch.arange(40.0)
    for _ in range(3):
        scale(a, 3)
        assert torch.equal(scale(a, 3, block=8), a * 3)
        assert torch.equal(scale(a, 3, 8), a * 3)


@pytest.mark.parametrize("wrong", [{"C": 1}, {"B": 1}])
def test_wrong_calls_are_refused_alike(wrong):
    scale = scaled()
    a = torch.arange(40.0)
    errors = []
    for _ in range(3):
        with pytest.raises((TileError, TuningError)) as caught:
            scale(a, 3, **wrong)
        errors.append(str(caught.value))
        scale(a, 3)
    assert len(set(errors)) == 1


def test_too_many_and_too_few_arguments_are_refused_alike():
    scale = scaled()
    a = torch.arange(40.0)
    for given in ((a, 3, 8, 9), (a,), ()):
        errors = []
        for _ in range(2):
            with pytest.raises((TileError, TypeError, TuningError)) as caught:
                scale(*given)
            errors.append(f"{type(caught.value)} {caught.value}")
            scale(a, 3)
            scale(a, 3)
        assert len(set(errors)) == 1
