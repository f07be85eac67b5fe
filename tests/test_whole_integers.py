"""Integers and truth values in programs on whole operands have the types that torch gives them."""

import numpy as np
import pytest
import torch

import tile2triton
import tile2triton.language as T
from tile2triton.diagnostics import TileError


def agree(kernel, arguments, expected, device):
    """A kernel, its reference meaning and torch give equal values; the kernel torch's types."""
    made = kernel(*(x.to(device) for x in arguments))
    for one, meant, wanted in zip(made, kernel.reference(*arguments), expected, strict=True):
        assert one.dtype == wanted.dtype
        assert torch.equal(one.cpu(), wanted)
        assert np.array_equal(np.asarray(meant), wanted.numpy())


@tile2triton.kernel
def mixed(x, y):
    return x + y, x * y - 3, T.where(x < y, x, y), x == y, T.maximum(x, y), T.concat([x, y], axis=0)


PAIRS = [
    ("uint8", "int8"),
    ("int16", "uint8"),
    ("uint8", "int64"),
    ("bool", "int8"),
    ("int32", "bool"),
    ("int8", "int32"),
]


def integers(dtype, seed):
    generator = torch.Generator().manual_seed(seed)
    low = 0 if dtype in (torch.bool, torch.uint8) else -100
    high = 2 if dtype is torch.bool else 250 if dtype is torch.uint8 else 100
    return torch.randint(low, high, (5, 40), generator=generator).to(dtype)


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_integers_of_two_types_meet_in_one_that_holds_both(left, right, device, poisoned):
    x, y = integers(getattr(torch, left), 0), integers(getattr(torch, right), 1)
    expected = x + y, x * y - 3, torch.where(x < y, x, y), x == y, torch.maximum(x, y)
    agree(mixed, [x, y], (*expected, torch.cat([x, y])), device)


@tile2triton.kernel
def counted(x, limit: float):
    is_large = x > limit
    return is_large * 2, is_large + 1, is_large | (x < 0), is_large * 0.5, is_large + (x < 0)


def test_truth_values_count_as_whole_numbers_beside_them(device):
    x = torch.randn(7, 33, generator=torch.Generator().manual_seed(0))
    is_large = x > 0.5
    expected = is_large * 2, is_large + 1, is_large | (x < 0), is_large * 0.5, is_large + (x < 0)

    @tile2triton.kernel
    def kernel(x):
        return counted(x, 0.5)

    agree(kernel, [x], expected, device)


@tile2triton.kernel
def sums(x):
    return T.cumsum(x, axis=-1), T.sum(x, axis=-1)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16"])
@pytest.mark.parametrize("width", [40, 3000])
def test_sums_of_narrow_integers_are_exact(dtype, width, device):
    x = integers(getattr(torch, dtype), 2).repeat(1, width // 40)
    agree(sums, [x], (x.cumsum(-1).int(), x.sum(-1).int()), device)


@tile2triton.kernel
def difference(x):
    return (x > 0) - (x < 0)


@tile2triton.kernel
def sign(x):
    return -(x > 0)


@tile2triton.kernel
def product(x):
    return T.cumprod(x)


@tile2triton.kernel
def unholdable(x):
    return x + x.to("uint64")


@pytest.mark.parametrize(
    ("kernel", "code"),
    [(difference, "T2T865"), (sign, "T2T865"), (product, "T2T866"), (unholdable, "T2T864")],
)
def test_what_has_no_meaning_is_refused_where_it_stands(kernel, code):
    with pytest.raises(TileError) as caught:
        kernel(torch.arange(5))
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.filename) == (code, __file__)
