"""CUDA's libdevice functions, by symbol, on NumPy arrays."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .directed import OPERATIONS, directed
from .numbers import Array


def _directed(name: str) -> Callable[..., Any] | None:
    """`fadd_rn` and its kind: an operation of float32 or float64 with its rounding."""
    operation, _, mode = name.rpartition("_")
    if mode not in ("rn", "rz", "ru", "rd"):
        return None
    if operation.startswith("fma"):
        return directed("fma", mode)
    bare = operation[1:]
    return directed(bare, mode) if bare in OPERATIONS else None


def call(symbol: str, operands: list[Array]) -> Array:
    """The function that `symbol` (`__nv_tanhf`) names; its result has its operands' precision."""
    name = symbol.removeprefix("__nv_")
    function = FUNCTIONS.get(name) or FUNCTIONS.get(name.removesuffix("f")) or _directed(name)
    if function is None:
        raise NotImplementedError(f"libdevice's {symbol} has no meaning on the CPU")
    return np.asarray(function(*operands))


def _each(function: Callable[..., float]) -> Callable[..., Any]:
    """A scalar function of Python's on arrays, with its errors as NaN."""

    def guarded(*values: float) -> float:
        try:
            return function(*values)
        except (ValueError, OverflowError):
            return math.nan

    return np.vectorize(guarded, otypes=[np.float64])


def _counted(data: Array, function: Callable[[int, int], int]) -> Array:
    """A number of bits of each element's pattern."""
    width = 8 * data.dtype.itemsize
    each = np.vectorize(lambda number: function(int(number), width), otypes=[np.int32])
    return np.asarray(each(data.view(f"u{data.dtype.itemsize}")))


def _truth(function: Callable[..., Any]) -> Callable[..., Array]:
    return lambda *operands: np.asarray(function(*operands)).astype(np.int32)


def _wide(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` computed in float64, for results that are right to the last bit of float32."""
    return lambda *operands: function(*(operand.astype(np.float64) for operand in operands))


def _round_half_away(data: Array) -> Array:
    whole = np.trunc(data)
    return np.asarray(whole + np.where(np.abs(data - whole) >= 0.5, np.copysign(1, data), 0))


def _remainder(x: Array, y: Array) -> Array:
    return np.asarray(_each(math.remainder)(x, y))


def _log_gamma(x: float) -> float:
    return math.inf if x <= 0 and x == math.floor(x) else math.lgamma(x)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sin": _wide(np.sin),
    "cos": _wide(np.cos),
    "tan": _wide(np.tan),
    "asin": _wide(np.arcsin),
    "acos": _wide(np.arccos),
    "atan": _wide(np.arctan),
    "atan2": _wide(np.arctan2),
    "sinh": _wide(np.sinh),
    "cosh": _wide(np.cosh),
    "tanh": _wide(np.tanh),
    "asinh": _wide(np.arcsinh),
    "acosh": _wide(np.arccosh),
    "atanh": _wide(np.arctanh),
    "sinpi": _wide(lambda x: np.sin(np.pi * np.fmod(x, 2.0))),
    "cospi": _wide(lambda x: np.cos(np.pi * np.fmod(x, 2.0))),
    "exp": _wide(np.exp),
    "exp2": _wide(np.exp2),
    "exp10": _wide(lambda x: np.power(10.0, x)),
    "expm1": _wide(np.expm1),
    "log": _wide(np.log),
    "log2": _wide(np.log2),
    "log10": _wide(np.log10),
    "log1p": _wide(np.log1p),
    "pow": _wide(np.power),
    "powi": lambda x, n: np.power(x.astype(np.float64), n.astype(np.float64)),
    "sqrt": np.sqrt,
    "rsqrt": _wide(lambda x: 1 / np.sqrt(x)),
    "cbrt": _wide(np.cbrt),
    "rcbrt": _wide(lambda x: 1 / np.cbrt(x)),
    "hypot": _wide(np.hypot),
    "rhypot": _wide(lambda x, y: 1 / np.hypot(x, y)),
    "fma": _wide(lambda x, y, z: x * y + z),
    "fmod": np.fmod,
    "remainder": _remainder,
    "fdim": lambda x, y: np.where(x > y, x - y, np.where(np.isnan(x + y), np.nan, 0)),
    "fabs": np.abs,
    "abs": np.abs,
    "llabs": np.abs,
    "fmin": np.fmin,
    "fmax": np.fmax,
    "min": np.minimum,
    "max": np.maximum,
    "umin": np.minimum,
    "umax": np.maximum,
    "llmin": np.minimum,
    "llmax": np.maximum,
    "ullmin": np.minimum,
    "ullmax": np.maximum,
    "copysign": np.copysign,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": _round_half_away,
    "rint": np.rint,
    "nearbyint": np.rint,
    "llrint": lambda x: np.rint(x).astype(np.int64),
    "llround": lambda x: _round_half_away(x).astype(np.int64),
    "saturate": lambda x: np.where(np.isnan(x), 0, np.clip(x, 0, 1)),
    "nextafter": np.nextafter,
    "ldexp": np.ldexp,
    "scalbn": np.ldexp,
    "logb": _wide(lambda x: np.frexp(x)[1] - 1.0),
    "ilogb": lambda x: (np.frexp(x)[1] - 1).astype(np.int32),
    "frsqrt_rn": _wide(lambda x: 1 / np.sqrt(x)),
    "popc": lambda x: _counted(x, lambda number, width: number.bit_count()),
    "popcll": lambda x: _counted(x, lambda number, width: number.bit_count()),
    "clz": lambda x: _counted(x, lambda number, width: width - number.bit_length()),
    "clzll": lambda x: _counted(x, lambda number, width: width - number.bit_length()),
    "erf": _each(math.erf),
    "erfc": _each(math.erfc),
    "tgamma": _each(math.gamma),
    "lgamma": _each(_log_gamma),
    "normcdf": _each(lambda x: 0.5 * math.erfc(-x / math.sqrt(2.0))),
    "isnan": _truth(np.isnan),
    "isnand": _truth(np.isnan),
    "isinf": _truth(np.isinf),
    "isinfd": _truth(np.isinf),
    "finite": _truth(np.isfinite),
    "isfinited": _truth(np.isfinite),
    "signbit": _truth(np.signbit),
    "signbitd": _truth(np.signbit),
}
