"""Typed numbers on NumPy: TileLang's promotion, its casts, and arithmetic that rounds as it does.

A value is a NumPy scalar or array whose dtype says its type. Types narrower than float32 compute in
float32 and are rounded once; a literal is int32 or float32.
"""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from rewrites import dtypes

# A NumPy scalar or array; NumPy's own types do not know the small floats of ml_dtypes.
Value = Any

_SMALL_FLOATS = {
    "bfloat16": ml_dtypes.bfloat16,
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2,
    "float8_e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "float8_e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
}
_INT32 = range(-(2**31), 2**31)


def numpy_dtype(name: str) -> np.dtype[Any]:
    dtype: np.dtype[Any] = np.dtype(_SMALL_FLOATS.get(name, name))
    return dtype


def dtype_of(value: Value) -> str:
    return str(value.dtype.name)


def typed(value: Value) -> Value:
    """A Python number as the literal it would be in a kernel; typed values stay."""
    if isinstance(value, np.generic):
        # NumPy's float64 is a Python float too, but its type is known.
        return value
    if isinstance(value, bool):
        return np.bool_(value)
    if isinstance(value, int):
        if value in _INT32:
            return np.int32(value)
        return np.uint64(value) if value >= 2**63 else np.int64(value)
    if isinstance(value, float):
        with np.errstate(all="ignore"):
            return np.float32(value)
    return value


def cast(value: Value, dtype: str) -> Value:
    """The value in another type: float to integer truncates, float to float8 saturates.

    What an integer type does not hold becomes the nearest that it holds, and NaN 0; types of 8 bits
    are what is left of 16, as GPUs convert.
    """
    # A Python number that becomes a float64 must not be rounded to float32 on its way.
    value = np.asarray(value) if isinstance(value, (bool, int, float)) else value
    if dtype_of(value) == dtype:
        return value
    target = numpy_dtype(dtype)
    with np.errstate(all="ignore"):
        if dtype == "bool":
            return value != value.dtype.type(0)
        if dtype.startswith("float8"):
            return _saturated(value, target)
        if dtype in _SMALL_FLOATS and dtypes.is_integer(dtype_of(value)):
            value = value.astype(np.float32)
        if dtypes.is_integer(dtype) and dtype_of(value) in _SMALL_FLOATS:
            value = value.astype(np.float32)
        if dtypes.is_integer(dtype) and dtypes.is_float(dtype_of(value)):
            return _truncated(value, target)
        return value.astype(target)


def common(*values: Value) -> tuple[Value, ...]:
    """The values in the type that TileLang's promotion gives them together."""
    values = tuple(typed(value) for value in values)
    dtype = dtype_of(values[0])
    for value in values[1:]:
        if dtype_of(value) != dtype:
            dtype = dtypes.promoted(dtype, dtype_of(value))
    return tuple(cast(value, dtype) for value in values)


def as_floats(*values: Value) -> tuple[Value, ...]:
    """The values in their common type, integers as float32: what `T.exp` and its kind take."""
    values = common(*values)
    if dtypes.is_float(dtype_of(values[0])):
        return values
    return tuple(cast(value, "float32") for value in values)


def compute(function: Callable[..., Any], *values: Value) -> Value:
    """`function` of values of one type, computed in at least float32 and rounded to the type."""
    dtype = dtype_of(values[0])
    if dtypes.is_float(dtype) and dtypes.bits(dtype) < 32:
        values = tuple(value.astype(np.float32) for value in values)
    with np.errstate(all="ignore"):
        result = function(*values)
    return cast(result, dtype)


def float_function(function: Callable[..., Any]) -> Callable[..., Value]:
    """A function of libm on typed values; `function` computes in float32 or float64."""

    def reference(*values: Value) -> Value:
        return compute(function, *as_floats(*values))

    return reference


def as_tf32(value: Value) -> Value:
    """Float32 rounded to the ten mantissa bits that TensorFloat-32 keeps."""
    whole = np.asarray(value, dtype=np.float32)
    pattern = whole.view(np.uint32)
    rounded = (pattern + np.uint32(0xFFF) + ((pattern >> 13) & 1)) & np.uint32(0xFFFFE000)
    return np.where(np.isfinite(whole), rounded.view(np.float32), whole)


def unset(dtype: str) -> Value:
    """What memory that nobody wrote is taken to hold: NaN, or a pattern that is seen at once."""
    if dtype == "bool":
        return np.bool_(True)
    if dtypes.is_float(dtype):
        return numpy_dtype(dtype).type(np.nan)
    limits = np.iinfo(numpy_dtype(dtype))
    return numpy_dtype(dtype).type(limits.min + 1 if limits.min else limits.max - 1)


def _truncated(value: Value, target: np.dtype[Any]) -> Value:
    wide = np.promote_types(target, np.int16 if target.kind == "i" else np.uint16)
    limits = np.iinfo(wide)
    whole = np.trunc(np.nan_to_num(np.asarray(value, np.float64), posinf=np.inf, neginf=-np.inf))
    # The largest numbers of 64 bits are no float64.
    high = whole >= float(limits.max)
    low = whole <= float(limits.min)
    result = np.where(high | low, 0.0, whole).astype(wide)
    result = np.where(high, limits.max, np.where(low, limits.min, result)).astype(wide)
    return result.astype(target)[()]


def _saturated(value: Value, target: np.dtype[Any]) -> Value:
    wide = value.astype(np.float64 if value.dtype == np.float64 else np.float32)
    largest = wide.dtype.type(ml_dtypes.finfo(target).max)
    # NaN passes through both, and stays NaN.
    return np.minimum(np.maximum(wide, -largest), largest).astype(target)
