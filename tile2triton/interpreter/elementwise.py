"""Triton's elementwise operations and atomics as tables of NumPy functions."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import triton.language as tl
from triton._C.libtriton import ir

from .numbers import Array, convert, widen
from .values import Value

Function = Callable[..., Any]


def keep_type(function: Function) -> Callable[..., Value]:
    """An operation whose result has its first operand's type, rounded to it once."""

    def operation(*operands: Value) -> Value:
        first = operands[0].data.dtype
        result = np.asarray(function(*(widen(operand.data) for operand in operands)))
        return Value(convert_arithmetic(result, first), operands[0].dtype)

    return operation


def convert_arithmetic(result: Array, dtype: np.dtype[Any]) -> Array:
    """A result of arithmetic in the type it must have."""
    return convert(result, dtype) if result.dtype != dtype else result


def compare(function: Function) -> Callable[..., Value]:
    def operation(lhs: Value, rhs: Value) -> Value:
        return Value(np.asarray(function(widen(lhs.data), widen(rhs.data))), tl.int1)

    return operation


def _integer(function: Function) -> Function:
    """An integer operation that wraps; booleans are one-bit integers, as in Triton."""

    def wrapping(lhs: Array, rhs: Array) -> Array:
        if lhs.dtype == np.bool_:
            return np.asarray(function(lhs.astype(np.int8), rhs.astype(np.int8)) & 1).astype(bool)
        return np.asarray(function(lhs, rhs))

    return wrapping


def _divide_towards_zero(lhs: Array, rhs: Array) -> Array:
    floor = np.floor_divide(lhs, rhs)
    inexact = np.remainder(lhs, rhs) != 0
    return np.where(inexact & ((lhs < 0) != (rhs < 0)), floor + 1, floor).astype(lhs.dtype)


def _as_signed(data: Array) -> Array:
    return data.view(f"i{data.dtype.itemsize}") if data.dtype.kind == "u" else data


def _as_unsigned(data: Array) -> Array:
    return data.view(f"u{data.dtype.itemsize}") if data.dtype.kind == "i" else data


def _arithmetic_shift(lhs: Array, rhs: Array) -> Array:
    return np.asarray(np.right_shift(_as_signed(lhs), _as_signed(rhs))).view(lhs.dtype)


def _logical_shift(lhs: Array, rhs: Array) -> Array:
    return np.asarray(np.right_shift(_as_unsigned(lhs), _as_unsigned(rhs))).view(lhs.dtype)


def _high_product(lhs: Array, rhs: Array) -> Array:
    bits = lhs.dtype.itemsize * 8
    wide: Any = np.uint64 if bits < 64 else object
    high = (_as_unsigned(lhs).astype(wide) * _as_unsigned(rhs).astype(wide)) >> bits
    return np.asarray(high).astype(f"u{lhs.dtype.itemsize}").view(lhs.dtype)


def _fused_multiply_add(x: Array, y: Array, z: Array) -> Array:
    if z.dtype == np.float64:
        return np.asarray(x * y + z)
    return np.asarray(x.astype(np.float64) * y + z)


def _clamp(data: Array, low: Array, high: Array) -> Array:
    return np.asarray(np.fmin(np.fmax(data, low), high))


def _clamp_value(data: Value, low: Value, high: Value, propagate: Any) -> Value:
    operation = np.clip if propagate == ir.PROPAGATE_NAN.ALL else _clamp
    return keep_type(operation)(data, low, high)


def _select(condition: Value, lhs: Value, rhs: Value) -> Value:
    # Both have one width, but may differ in sign after an atomic on a float's bits.
    other = rhs.data.view(lhs.data.dtype)
    return Value(np.where(condition.data, lhs.data, other), lhs.dtype)


def _error_function(data: Array) -> Array:
    return np.asarray(_ERF(data)).astype(data.dtype)


def _reciprocal_root(data: Array) -> Array:
    return np.asarray(np.divide(1, np.sqrt(data), dtype=data.dtype))


def _divide(lhs: Array, rhs: Array) -> Array:
    return np.asarray(np.divide(lhs, rhs, dtype=lhs.dtype))


def without_fp8(name: str, operation: Callable[..., Value]) -> Callable[..., Value]:
    """An operation that LLVM has not for fp8, whose numbers are bytes to it."""

    def checked(*operands: Value, **options: Any) -> Value:
        if any(getattr(operand.dtype.scalar, "is_fp8", bool)() for operand in operands):
            raise TypeError(f"Triton has no {name} of fp8 numbers")
        return operation(*operands, **options)

    return checked


_ERF = np.vectorize(math.erf, otypes=[np.float64])

_KEEPING: dict[str, Function] = {
    "fadd": np.add,
    "fsub": np.subtract,
    "fmul": np.multiply,
    "fdiv": _divide,
    "precise_divf": _divide,
    "approx_divf": _divide,
    "frem": np.fmod,
    "fneg": np.negative,
    "add": _integer(np.add),
    "sub": _integer(np.subtract),
    "mul": _integer(np.multiply),
    "sdiv": _divide_towards_zero,
    "udiv": np.floor_divide,
    "srem": np.fmod,
    "urem": np.remainder,
    "shl": np.left_shift,
    "ashr": _arithmetic_shift,
    "lshr": _logical_shift,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "umulhi": _high_product,
    "minsi": np.minimum,
    "minui": np.minimum,
    "maxsi": np.maximum,
    "maxui": np.maximum,
    # `minimumf` hands NaN on; `minnumf` returns the operand that is a number.
    "minimumf": np.minimum,
    "maximumf": np.maximum,
    "minnumf": np.fmin,
    "maxnumf": np.fmax,
    "fabs": np.abs,
    "iabs": np.abs,
    "floor": np.floor,
    "ceil": np.ceil,
    "exp": np.exp,
    "exp2": np.exp2,
    "log": np.log,
    "log2": np.log2,
    "sqrt": np.sqrt,
    "precise_sqrt": np.sqrt,
    "rsqrt": _reciprocal_root,
    "sin": np.sin,
    "cos": np.cos,
    "erf": _error_function,
    "fma": _fused_multiply_add,
}

_COMPARING: dict[str, Function] = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
}

OPERATIONS: dict[str, Callable[..., Any]] = {
    **{
        f"create_{name}": without_fp8(name, keep_type(function))
        for name, function in _KEEPING.items()
    },
    **{
        f"create_{prefix}{name}": compare(function)
        for name, function in _COMPARING.items()
        for prefix in ("icmpS", "icmpU", "icmp", "fcmpO")
    },
    # Unordered "not equal" holds for NaN, as NumPy's does.
    "create_fcmpUNE": compare(np.not_equal),
    "create_clampf": _clamp_value,
    "create_select": _select,
}
# NumPy's "not equal" is unordered, so the ordered one has no entry.
del OPERATIONS["create_fcmpONE"]


def _rounded(function: Function) -> Callable[[Array, Array], Array]:
    def combine(old: Array, new: Array) -> Array:
        result = np.asarray(function(widen(old), widen(new)))
        return convert_arithmetic(result, old.dtype)

    return combine


def _take_new(old: Array, new: Array) -> Array:
    return new


ATOMICS: dict[str, Callable[[Array, Array], Array]] = {
    "ADD": _rounded(np.add),
    "FADD": _rounded(np.add),
    "MIN": _rounded(np.minimum),
    "UMIN": _rounded(np.minimum),
    "MAX": _rounded(np.maximum),
    "UMAX": _rounded(np.maximum),
    "AND": _rounded(np.bitwise_and),
    "OR": _rounded(np.bitwise_or),
    "XOR": _rounded(np.bitwise_xor),
    "XCHG": _take_new,
}
