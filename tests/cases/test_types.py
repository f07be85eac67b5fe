"""Literals of every type (C10) and casts between every pair of types (C11)."""

import numpy as np
import pytest
import torch

from tests.cases.agreement import BITS, expect, to_numpy
from tests.cases.kernels.copies import cast_both_ways, filled

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float8_e4m3fn", "float8_e5m2", "float16", "bfloat16", "float32", "float64")
DTYPES = ("bool", *INTEGERS, *FLOATS)


@pytest.mark.parametrize("scope", ["shared", "fragment"])
def test_fill_of_int8_with_minus_three(scope):
    expect(filled(64, -3, "int8", scope), (), -3)


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("int8", -128),
        ("int8", 127),
        ("uint8", 255),
        ("int16", -32768),
        ("uint16", 65535),
        ("int32", -(2**31)),
        ("uint32", 2**32 - 1),
        ("int64", -(2**40)),
        ("bool", True),
        ("float16", -0.5),
        ("bfloat16", 1.5),
        ("float8_e4m3fn", 448.0),
        ("float32", float("-inf")),
        ("float32", float("nan")),
        ("float32", 1e30),
        ("float64", 1e300),
    ],
)
def test_fill_with_the_edge_of_a_type(dtype, value):
    expect(filled(20, value, dtype), (), torch.tensor(value, dtype=getattr(torch, dtype)))


def test_integers_round_to_nearest_even_as_bfloat16():
    numbers = torch.tensor([259, 33000, -259], dtype=torch.int32)
    right = np.array([260.0, 33024.0, -260.0])
    expect(cast_both_ways(3, "int32", "bfloat16"), (numbers,), right, right)


def values_for(source: str, target: str) -> torch.Tensor:
    """Random numbers that both types can hold up to rounding, negative ones where both can."""
    generator = torch.Generator().manual_seed(3)
    signed = not (source.startswith("uint") or target.startswith("uint"))
    signed = signed and "bool" not in (source, target)
    limit = 100.0 if "8" in source or "8" in target else 60000.0
    if "int16" in (source, target):
        limit = min(limit, 30000.0)
    numbers = torch.rand(60, generator=generator, dtype=torch.float64) * limit
    # Small and fractional numbers as well: they tell truncation from rounding.
    numbers[:20] /= limit / 4
    if signed:
        numbers[::2] *= -1
    if source == "bool":
        numbers = (numbers > 1).double()
    if source in INTEGERS:
        numbers = numbers.trunc()
    return numbers.to(torch.float32).to(getattr(torch, source))


@pytest.mark.parametrize("target", DTYPES)
@pytest.mark.parametrize("source", DTYPES)
def test_cast_between_every_pair_of_types(source, target):
    numbers = values_for(source, target)
    dtype = getattr(torch, target)
    right = to_numpy(numbers).astype(BITS[dtype][1] if dtype in BITS else target)
    expect(cast_both_ways(60, source, target), (numbers,), right, right)


@pytest.mark.parametrize("target", ["int8", "int16", "uint8", "uint32"])
def test_integers_wrap_where_the_target_is_narrower(target):
    numbers = torch.tensor([300, -300, 70000, -70000, 2**31 - 1, -(2**31)], dtype=torch.int32)
    right = numbers.numpy().astype(target)
    expect(cast_both_ways(6, "int32", target), (numbers,), right, right)
