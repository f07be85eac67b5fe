"""Whether the bits of repeated runs are the same."""

import itertools

import pytest
import torch

from tile2triton.repeats import moving


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float8_e4m3fn, torch.bool])
def test_one_and_several_results_are_compared(dtype) -> None:
    same = torch.tensor([0.0, 1.0]).to(dtype)
    other = torch.tensor([1.0, 1.0]).to(dtype)
    turns = itertools.cycle((same, other))
    assert moving(lambda: same.clone(), 5) == 0
    assert moving(lambda: [same.clone(), same], 5) == 0
    assert moving(lambda: next(turns), 5) == 3
    assert moving(lambda: (same, next(turns)), 4) == 2


def test_a_nan_is_itself_and_zeros_differ_by_their_sign() -> None:
    nan = torch.tensor([[float("nan"), 0.0]])
    assert moving(lambda: nan.clone(), 3) == 0
    signs = itertools.cycle((0.0, -0.0))
    assert moving(lambda: torch.tensor(next(signs)), 3) == 2
