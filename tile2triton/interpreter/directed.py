"""libdevice's arithmetic with a named direction of rounding: one exact result, rounded once."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from .numbers import Array

_EXACT: dict[str, Callable[..., Fraction]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "rcp": lambda x: 1 / x,
    "fma": lambda x, y, z: x * y + z,
    "sqrt": lambda x: _root(x),
}
_PLAIN: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "rcp": np.reciprocal,
    "fma": lambda x, y, z: x * y + z,
    "sqrt": np.sqrt,
}
_ROOT_BITS = 400
OPERATIONS = tuple(_EXACT)


def directed(operation: str, mode: str) -> Callable[..., Array]:
    """The function of arrays that `__nv_f<operation>_<mode>` is."""

    def function(*operands: Array) -> Array:
        dtype = operands[0].dtype
        each = np.vectorize(lambda *n: _rounded(operation, mode, dtype, n), otypes=[dtype])
        return np.asarray(each(*operands))

    return function


def _rounded(operation: str, mode: str, dtype: np.dtype[Any], numbers: tuple[Any, ...]) -> Any:
    with np.errstate(all="ignore"):
        plain = dtype.type(_PLAIN[operation](*numbers))
    if not all(map(math.isfinite, numbers)) or math.isnan(plain):
        return plain
    if operation in ("div", "rcp") and not numbers[-1]:
        return plain
    exact = _EXACT[operation](*(Fraction(float(number)) for number in numbers))
    if not exact:
        return plain
    nearest = _nearest(exact, dtype)
    if mode == "rn":
        return nearest
    upwards = mode == "ru" or (mode == "rz" and exact < 0)
    value = float(nearest)
    if upwards and (value == -math.inf or (math.isfinite(value) and Fraction(value) < exact)):
        return np.nextafter(nearest, dtype.type(np.inf))
    if not upwards and (value == math.inf or (math.isfinite(value) and Fraction(value) > exact)):
        return np.nextafter(nearest, dtype.type(-np.inf))
    return nearest


def _nearest(exact: Fraction, dtype: np.dtype[Any]) -> Any:
    """A fraction rounded to the type's digits, to even where two are as near."""
    digits, least = (24, -149) if dtype == np.float32 else (53, -1074)
    magnitude = abs(exact)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if magnitude < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** max(exponent - digits + 1, least)
    whole = round(magnitude / unit)
    with np.errstate(over="ignore"):
        try:
            rounded = dtype.type(float(whole * unit))
        except OverflowError:
            rounded = dtype.type(np.inf)
    return -rounded if exact < 0 else rounded


def _root(x: Fraction) -> Fraction:
    """A square root to many more digits than any type has; exact where it is a fraction of 2."""
    scaled = (x.numerator << (2 * _ROOT_BITS)) // x.denominator
    root = math.isqrt(scaled)
    # A digit behind the last one says that the root is longer.
    longer = root * root != scaled or (x.numerator << (2 * _ROOT_BITS)) % x.denominator != 0
    return Fraction(2 * root + int(longer), 2 << _ROOT_BITS)
