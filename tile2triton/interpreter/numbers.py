"""Triton's element types as NumPy dtypes, and conversions between them that round as a GPU does."""

from typing import Any

import ml_dtypes
import numpy as np
import triton.language as tl
from numpy.typing import NDArray

Array = NDArray[Any]

NUMPY: dict[str, np.dtype[Any]] = {
    "int1": np.dtype(np.bool_),
    "int8": np.dtype(np.int8),
    "int16": np.dtype(np.int16),
    "int32": np.dtype(np.int32),
    "int64": np.dtype(np.int64),
    "uint8": np.dtype(np.uint8),
    "uint16": np.dtype(np.uint16),
    "uint32": np.dtype(np.uint32),
    "uint64": np.dtype(np.uint64),
    "fp16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "fp32": np.dtype(np.float32),
    "fp64": np.dtype(np.float64),
    "fp8e4nv": np.dtype(ml_dtypes.float8_e4m3fn),
    "fp8e5": np.dtype(ml_dtypes.float8_e5m2),
    "fp8e4b8": np.dtype(ml_dtypes.float8_e4m3fnuz),
    "fp8e5b16": np.dtype(ml_dtypes.float8_e5m2fnuz),
}

BFLOAT16 = NUMPY["bf16"]
FLOAT8 = tuple(NUMPY[name] for name in ("fp8e4nv", "fp8e5", "fp8e4b8", "fp8e5b16"))
# Arithmetic on these is done in float32 and rounded once, as the hardware's results are.
NARROW = (BFLOAT16, *FLOAT8)


def numpy_dtype(dtype: Any) -> np.dtype[Any]:
    """The NumPy dtype in which values of a Triton type are held; pointers are addresses."""
    scalar = dtype.scalar
    if scalar.is_ptr():
        return np.dtype(np.uint64)
    if scalar.name not in NUMPY:
        raise NotImplementedError(f"Triton type {scalar.name} has no meaning on the CPU")
    return NUMPY[scalar.name]


def is_float(dtype: np.dtype[Any]) -> bool:
    return dtype.kind == "f" or dtype in NARROW


def widen(data: Array) -> Array:
    """bfloat16 and float8 as float32, which holds them exactly; all else as it is."""
    return data.astype(np.float32) if data.dtype in NARROW else data


def convert(data: Array, dtype: np.dtype[Any]) -> Array:
    """`data` in another type: to nearest even for floats, towards zero for integers.

    float8 saturates, infinity included, as `cvt.rn.satfinite` does. A float that leaves an integer
    type's range saturates; for 8 bits at 16 and wraps from there, as PTX converts.
    """
    if data.dtype == dtype:
        return data
    if dtype in FLOAT8:
        wide = data if data.dtype == np.float64 else widen(data).astype(np.float32)
        limit = float(ml_dtypes.finfo(dtype).max)
        return np.asarray(np.clip(wide, -limit, limit)).astype(dtype)
    if dtype == BFLOAT16:
        if data.dtype.kind in "iu" or data.dtype == np.float64:
            return _to_odd(data.astype(np.float64)).astype(dtype)
        return widen(data).astype(np.float32).astype(dtype)
    if dtype.kind in "iu" and is_float(data.dtype):
        return _to_integer(widen(data).astype(np.float64), dtype)
    return widen(data).astype(dtype)


def round_to_tf32(data: Array) -> Array:
    """float32 rounded to nearest even at ten mantissa bits; infinity and NaN stay."""
    bits = np.asarray(data, np.float32).view(np.uint32)
    rounded = (bits + ((bits >> 13) & 1) + np.uint32(0xFFF)) & np.uint32(0xFFFFE000)
    return np.where(np.isfinite(data), rounded, bits).view(np.float32)


def triton_dtype(torch_dtype: object) -> Any:
    """The Triton type of a torch dtype, by its printed name."""
    name = str(torch_dtype).removeprefix("torch.")
    named = {
        "bool": "int1",
        "float8_e4m3fn": "float8e4nv",
        "float8_e5m2": "float8e5",
        "float8_e4m3fnuz": "float8e4b8",
        "float8_e5m2fnuz": "float8e5b16",
    }.get(name, name)
    dtype = getattr(tl, named, None)
    if not isinstance(dtype, tl.dtype):
        raise TypeError(f"a tensor of dtype {torch_dtype} cannot be an argument of a Triton kernel")
    return dtype


def _to_odd(data: Array) -> Array:
    """float64 as float32 with the lost bits folded into the last one.

    A second rounding, to bfloat16, then gives what one rounding of the float64 would.
    """
    bits = np.ascontiguousarray(data).view(np.uint64)
    lost = np.uint64((1 << 29) - 1)
    sticky = np.where((bits & lost) != 0, np.uint64(1 << 29), np.uint64(0))
    kept = ((bits & ~lost) | sticky).view(np.float64).reshape(data.shape)
    return np.where(np.isfinite(data), kept, data).astype(np.float32)


def _to_integer(data: Array, dtype: np.dtype[Any]) -> Array:
    wide = np.dtype(f"{dtype.kind}{max(2, dtype.itemsize)}")
    limits = np.iinfo(wide)
    whole = np.where(np.isnan(data), 0.0, np.trunc(data))
    # 2**63 - 1 is no float64: rounded up it is already outside.
    above = float(limits.max) + (wide.itemsize < 8)
    inside = (whole >= float(limits.min)) & (whole < above)
    clipped = np.where(whole < 0, wide.type(limits.min), wide.type(limits.max))
    return np.where(inside, np.where(inside, whole, 0.0).astype(wide), clipped).astype(dtype)
