"""Numbers on the CPU: every element type computes, rounds and saturates as on a GPU."""

import ml_dtypes
import numpy as np
import pytest
import torch

from tests.triton_text import pointwise

N = 1024
NUMPY = {
    torch.bfloat16: ml_dtypes.bfloat16,
    torch.float8_e4m3fn: ml_dtypes.float8_e4m3fn,
    torch.float8_e5m2: ml_dtypes.float8_e5m2,
    torch.float8_e4m3fnuz: ml_dtypes.float8_e4m3fnuz,
    torch.float8_e5m2fnuz: ml_dtypes.float8_e5m2fnuz,
}
FLOAT8 = list(NUMPY)[1:]
FLOATS = [torch.float32, torch.float16, torch.bfloat16]
SPECIAL = [0.0, -0.0, 1.0, float("inf"), -float("inf"), float("nan"), 1e-40, 65504.0, 65520.0]


def random(dtype: torch.dtype = torch.float32, scale: float = 4.0) -> torch.Tensor:
    return (torch.randn(N) * scale).to(dtype)


def as_numpy(tensor: torch.Tensor) -> np.ndarray:
    """The tensor's values; types that NumPy lacks through their bits."""
    if tensor.dtype not in NUMPY:
        return tensor.numpy()
    bits = torch.int16 if tensor.dtype is torch.bfloat16 else torch.uint8
    return tensor.view(bits).numpy().view(NUMPY[tensor.dtype])


def bits(array: np.ndarray) -> np.ndarray:
    return array.view(f"u{array.itemsize}")


def assert_same(actual: torch.Tensor, expected: np.ndarray) -> None:
    """Equal to the bit, where one NaN is as good as another."""
    data = as_numpy(actual)
    assert data.dtype == expected.dtype
    both_nan = np.isnan(data.astype(np.float64)) & np.isnan(expected.astype(np.float64))
    np.testing.assert_array_equal(
        np.where(both_nan, 0, bits(data)), np.where(both_nan, 0, bits(expected))
    )


def ties(dtype: torch.dtype) -> torch.Tensor:
    """float32 values halfway between neighbours of `dtype`, and one step to each side."""
    width = torch.finfo(dtype).bits
    patterns = torch.arange(0, min(2**width, 2**16), dtype=torch.int32)
    kind = torch.uint8 if width == 8 else torch.int16
    values = patterns.to(kind).view(dtype).float()
    values = values[torch.isfinite(values)].unique()
    middle = (values[1:] + values[:-1]) / 2
    inf = torch.tensor(float("inf"))
    found = torch.cat([middle, torch.nextafter(middle, inf), torch.nextafter(middle, -inf)])
    size = 2 ** (len(found) - 1).bit_length()
    return torch.cat([found, torch.tensor(SPECIAL)] + [found] * 2)[:size]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_float32_rounds_to_nearest_even(dtype):
    x = ties(dtype)
    assert_same(pointwise("x0.to(out_ptr.dtype.element_ty)", [x], dtype), as_numpy(x.to(dtype)))


@pytest.mark.parametrize("dtype", FLOAT8)
def test_float32_to_float8_rounds_to_nearest_even_and_saturates(dtype):
    x = torch.cat([ties(dtype), torch.linspace(-1e5, 1e5, 512), torch.randn(512) * 300])
    x = torch.cat([x, x])[: 2 ** (len(x) - 1).bit_length()]
    limit = torch.finfo(dtype).max
    expected = x.clamp(-limit, limit).numpy().astype(NUMPY[dtype])
    assert_same(pointwise("x0.to(out_ptr.dtype.element_ty)", [x], dtype), expected)


@pytest.mark.parametrize(
    ("dtype", "value", "expected"),
    [
        (torch.float8_e5m2, float("inf"), 57344.0),
        (torch.float8_e5m2, 1e5, 57344.0),
        (torch.float8_e5m2, 57344.0, 57344.0),
        (torch.float8_e5m2, 1.9, 2.0),
        (torch.float8_e4m3fn, 448.0, 448.0),
        (torch.float8_e4m3fn, 449.0, 448.0),
        (torch.float8_e4m3fn, 464.0, 448.0),
        (torch.float8_e4m3fn, 500.0, 448.0),
        (torch.float8_e4m3fn, -float("inf"), -448.0),
        (torch.float8_e4m3fnuz, 500.0, 240.0),
        (torch.float8_e4m3fnuz, -0.0, 0.0),
        (torch.float8_e5m2fnuz, 1e6, 57344.0),
    ],
)
def test_float8_edges(dtype, value, expected):
    out = pointwise("x0.to(out_ptr.dtype.element_ty)", [torch.full((16,), value)], dtype)
    assert out.float().tolist() == [expected] * 16


@pytest.mark.parametrize("source", FLOAT8)
@pytest.mark.parametrize("target", [*FLOATS, torch.float64])
def test_float8_widens_exactly(source, target):
    x = torch.arange(256, dtype=torch.uint8).view(source)
    out = pointwise("x0.to(out_ptr.dtype.element_ty)", [x], target)
    expected = as_numpy(x).astype(np.float64)
    np.testing.assert_array_equal(as_numpy(out).astype(np.float64), expected)


@pytest.mark.parametrize("source", [torch.float16, torch.bfloat16, torch.float64])
def test_other_floats_to_float8(source):
    x = random(source, 100.0)
    limit = torch.finfo(torch.float8_e4m3fn).max
    expected = x.double().clamp(-limit, limit).numpy().astype(ml_dtypes.float8_e4m3fn)
    assert_same(pointwise("x0.to(tl.float8e4nv)", [x], torch.float8_e4m3fn), expected)


def test_float64_to_bfloat16_rounds_once():
    # Just above a tie of bfloat16, by less than float32 can hold.
    x = torch.full((16,), 1.0 + 2.0**-8 + 2.0**-40, dtype=torch.float64)
    out = pointwise("x0.to(tl.bfloat16)", [x], torch.bfloat16)
    assert out.float().tolist() == [1.0 + 2.0**-7] * 16


@pytest.mark.parametrize("source", [torch.int32, torch.int64, torch.int16, torch.int8, torch.uint8])
def test_integers_to_bfloat16(source):
    x = torch.randint(0, 2**30, (N,)).to(source)
    expected = x.numpy().astype(np.float64).astype(np.float32).astype(ml_dtypes.bfloat16)
    assert_same(pointwise("x0.to(tl.bfloat16)", [x], torch.bfloat16), expected)


def test_integers_that_bfloat16_cannot_hold():
    x = torch.tensor([259, 33000, -259, 2**24 + 1], dtype=torch.int32)
    out = pointwise("x0.to(tl.bfloat16)", [x], torch.bfloat16)
    assert out.float().tolist() == [260.0, 33024.0, -260.0, float(2**24)]


def test_unsigned_integers_to_float():
    x = torch.tensor([0, 1, 2**31, 2**32 - 1], dtype=torch.uint32)
    assert pointwise("x0.to(tl.float32)", [x], torch.float32).tolist() == [0, 1, 2**31, 2**32]


@pytest.mark.parametrize("source", FLOATS)
def test_floats_to_integers_drop_the_fraction(source):
    x = random(source, 50.0)
    for target in (torch.int8, torch.int32, torch.int64):
        out = pointwise("x0.to(out_ptr.dtype.element_ty)", [x.clamp(-120, 120)], target)
        assert torch.equal(out, x.clamp(-120, 120).float().trunc().to(target))


def test_floats_beyond_an_integer_type_saturate():
    x = torch.tensor([1e20, -1e20, float("nan"), float("inf")])
    assert pointwise("x0.to(tl.int32)", [x], torch.int32).tolist() == [
        2**31 - 1,
        -(2**31),
        0,
        2**31 - 1,
    ]
    assert pointwise("x0.to(tl.uint8)", [x.abs()], torch.uint8).tolist() == [255, 255, 0, 255]


@pytest.mark.parametrize("expression", ["x0 + x1", "x0 - x1", "x0 * x1", "x0 * 3 - x1"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_arithmetic_rounds_every_step(expression, dtype):
    x, y = random(dtype), random(dtype)
    expected = eval(expression, {"x0": x, "x1": y})
    assert_same(pointwise(expression, [x, y], dtype), as_numpy(expected))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_division_of_narrow_floats_is_done_in_float32(dtype):
    x, y = random(dtype), random(dtype)
    expected = x.float() / y.float()
    assert_same(pointwise("x0 / x1", [x, y], torch.float32), expected.numpy())


def test_float16_overflows_to_infinity():
    x = torch.full((16,), 60000.0, dtype=torch.float16)
    assert pointwise("x0 + x0", [x], torch.float16).tolist() == [float("inf")] * 16


@pytest.mark.parametrize("operator", ["<", "<=", ">", ">=", "==", "!="])
@pytest.mark.parametrize("dtype", [*FLOATS, torch.int8, torch.uint32])
def test_comparisons(operator, dtype):
    x, y = random().abs().to(dtype), random().abs().to(dtype)
    if dtype.is_floating_point:
        x[0], y[1] = float("nan"), float("nan")
        x[2] = y[2] = float("nan")
    y[3:20] = x[3:20]
    expected = eval(f"x {operator} y", {"x": x.double(), "y": y.double()})
    assert torch.equal(pointwise(f"x0 {operator} x1", [x, y], torch.bool), expected)


@pytest.mark.parametrize("dtype", FLOATS)
def test_where_minimum_maximum_and_abs(dtype):
    x, y = random(dtype), random(dtype)
    assert_same(
        pointwise("tl.where(x0 > x1, x0, x1)", [x, y], dtype), as_numpy(torch.maximum(x, y))
    )
    assert_same(pointwise("tl.minimum(x0, x1)", [x, y], dtype), as_numpy(torch.minimum(x, y)))
    assert_same(pointwise("tl.abs(x0)", [x], dtype), as_numpy(x.abs()))
    assert_same(pointwise("-x0", [x], dtype), as_numpy(-x))


def test_maximum_returns_the_number_unless_told_to_keep_nan():
    x, y = torch.full((4,), float("nan")), torch.ones(4)
    assert pointwise("tl.maximum(x0, x1)", [x, y], torch.float32).tolist() == [1.0] * 4
    kept = "tl.maximum(x0, x1, propagate_nan=tl.PropagateNan.ALL)"
    assert pointwise(kept, [x, y], torch.float32).isnan().all()


@pytest.mark.parametrize(
    "function", ["exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "erf", "sigmoid"]
)
def test_functions_of_float32(function):
    x = torch.rand(N) * 4 + 0.01
    expected = getattr(torch, function)(x.double()).float()
    torch.testing.assert_close(pointwise(f"tl.{function}(x0)", [x], torch.float32), expected)


def test_integer_division_and_remainder_go_towards_zero():
    x = torch.tensor([7, -7, 7, -7, 6, -6, 0, 2**31 - 1], dtype=torch.int32)
    y = torch.tensor([2, 2, -2, -2, 3, 3, -5, -1], dtype=torch.int32)
    quotient = pointwise("x0 // x1", [x, y], torch.int32)
    assert quotient.tolist() == [3, -3, -3, 3, 2, -2, 0, -(2**31 - 1)]
    assert pointwise("x0 % x1", [x, y], torch.int32).tolist() == [1, -1, 1, -1, 0, 0, 0, 0]


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.int32, torch.int64])
def test_integer_division_of_random_values(dtype):
    x = torch.randint(-100, 100, (N,)).to(dtype)
    y = torch.randint(1, 10, (N,)).to(dtype) * (torch.randint(0, 2, (N,)) * 2 - 1).to(dtype)
    expected = torch.div(x, y, rounding_mode="trunc")
    assert torch.equal(pointwise("x0 // x1", [x, y], dtype), expected)
    assert torch.equal(pointwise("x0 % x1", [x, y], dtype), torch.fmod(x, y))


def test_unsigned_arithmetic_wraps_and_divides_without_sign():
    x = torch.tensor([2**32 - 1, 5, 2**31, 7], dtype=torch.uint32)
    y = torch.tensor([2, 6, 3, 7], dtype=torch.uint32)
    assert pointwise("x0 // x1", [x, y], torch.uint32).tolist() == [2**31 - 1, 0, 2**31 // 3, 1]
    assert pointwise("x0 - x1", [x, y], torch.uint32).tolist() == [
        2**32 - 3,
        2**32 - 1,
        2**31 - 3,
        0,
    ]


def test_integer_arithmetic_wraps():
    x = torch.tensor([2**31 - 1, -(2**31)], dtype=torch.int32)
    assert pointwise("x0 + 1", [x], torch.int32).tolist() == [-(2**31), -(2**31) + 1]


def test_shifts_keep_the_sign_of_signed_integers_only():
    x = torch.tensor([-8, 8, -1, 1], dtype=torch.int32)
    assert pointwise("x0 >> 1", [x], torch.int32).tolist() == [-4, 4, -1, 0]
    assert pointwise("x0 << 2", [x], torch.int32).tolist() == [-32, 32, -4, 4]
    unsigned = torch.tensor([2**32 - 8, 8], dtype=torch.uint32)
    assert pointwise("x0 >> 1", [unsigned], torch.uint32).tolist() == [2**31 - 4, 4]


def test_bit_operations_and_unsigned_casts():
    x = torch.tensor([-1, 1, 255, -256], dtype=torch.int32)
    assert pointwise("(x0 & 0xF0) | 1", [x], torch.int32).tolist() == [0xF1, 1, 0xF1, 1]
    assert pointwise("x0.to(tl.uint8)", [x], torch.uint8).tolist() == [255, 1, 255, 0]
    assert pointwise("x0.to(tl.uint8).to(tl.int32)", [x], torch.int32).tolist() == [255, 1, 255, 0]
    assert pointwise("~x0", [x], torch.int32).tolist() == [0, -2, -256, 255]


def test_bitcasts():
    x = random()
    out = pointwise("x0.to(tl.int32, bitcast=True)", [x], torch.int32)
    assert torch.equal(out, x.view(torch.int32))


LIBDEVICE = {
    "tanh": np.tanh,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tan": np.tan,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "exp10": lambda x: 10.0**x,
    "expm1": np.expm1,
    "trunc": np.trunc,
    "nearbyint": np.rint,
    "rint": np.rint,
    "isnan": np.isnan,
    "isinf": np.isinf,
    "erf": np.vectorize(__import__("math").erf),
    "erfc": np.vectorize(__import__("math").erfc),
}


@pytest.mark.parametrize("function", LIBDEVICE)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_libdevice(function, dtype):
    x = random(dtype, 2.0)
    out_dtype = torch.int32 if function.startswith("is") else dtype
    expected = LIBDEVICE[function](x.double().numpy())
    out = pointwise(f"libdevice.{function}(x0)", [x], out_dtype)
    torch.testing.assert_close(out, torch.from_numpy(np.asarray(expected)).to(out_dtype))


@pytest.mark.parametrize(
    ("function", "reference"),
    [
        ("asin", "asin"),
        ("acos", "acos"),
        ("atanh", "atanh"),
        ("log1p", "log1p"),
        ("log10", "log10"),
    ],
)
def test_libdevice_of_positive_values(function, reference):
    x = torch.rand(N) * 0.9 + 0.05
    expected = getattr(torch, reference)(x.double()).float()
    torch.testing.assert_close(pointwise(f"libdevice.{function}(x0)", [x], torch.float32), expected)


@pytest.mark.parametrize("function", ["atan2", "fmod", "copysign", "hypot", "pow"])
def test_libdevice_of_two_values(function):
    x, y = random().abs() + 0.1, random()
    expected = getattr(torch, function)(x.double(), y.double()).float()
    out = pointwise(f"libdevice.{function}(x0, x1)", [x, y], torch.float32)
    torch.testing.assert_close(out, expected, rtol=1e-5, atol=1e-5)


def test_libdevice_round_goes_away_from_zero_at_halves():
    x = torch.tensor([0.5, 1.5, 2.5, -0.5, -2.5, 0.49999997, 3.2, -3.7])
    assert pointwise("libdevice.round(x0)", [x], torch.float32).tolist() == [
        *(1.0, 2.0, 3.0, -1.0, -3.0, 0.0, 3.0, -4.0)
    ]
    finite = torch.tensor([1.0, float("inf"), float("nan"), -2.0])
    assert pointwise("libdevice.finitef(x0)", [finite], torch.int32).tolist() == [1, 0, 0, 1]
    isfinited = pointwise("libdevice.isfinited(x0)", [finite.double()], torch.int32)
    assert isfinited.tolist() == [1, 0, 0, 1]
