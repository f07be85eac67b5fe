"""What stands for values that only a kernel or a large computation would give: ones.

With every unknown tensor full of ones, differences of results are 0, their ratios and similarities
are 1, and the tolerances that scripts compare them with hold. A sum of unknown values is not
multiplied by their number, so that ratios of sums stay what they are.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

Guess = bool | int | float

UNKNOWN: Guess = 1

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "rsub": lambda a, b: b - a,
    "mul": operator.mul,
    "div": operator.truediv,
    "pow": operator.pow,
    "maximum": max,
    "minimum": min,
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "logical_and": lambda a, b: bool(a) and bool(b),
    "logical_or": lambda a, b: bool(a) or bool(b),
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "isclose": lambda a, b: True,
    "fill": lambda a, b: b,
    "copy": lambda a, b: b,
}
_UNARY: dict[str, Callable[[Any], Any]] = {
    "abs": abs,
    "neg": operator.neg,
    "sqrt": math.sqrt,
    "rsqrt": lambda a: 1 / math.sqrt(a),
    "square": lambda a: a * a,
    "reciprocal": lambda a: 1 / a,
    "exp": math.exp,
    "log": math.log,
    "isfinite": lambda a: True,
    "isnan": lambda a: False,
    "isinf": lambda a: False,
    "logical_not": lambda a: not a,
    "zeros_like": lambda a: 0,
    "zero": lambda a: 0,
}
_KEEPING = frozenset(
    "all any _to_copy clone detach alias view _unsafe_view reshape expand unsqueeze squeeze "
    "permute transpose t slice select sum mean max min amax amin flatten contiguous "
    "linalg_vector_norm norm clamp".split()
)


def guessed(name: str, operands: Sequence[Any]) -> Guess:
    """What an operator of torch gives for guesses; a tensor that is none of these is all ones."""
    name = name.partition("::")[2].partition(".")[0]
    if name == "add_":
        # Sums that are built up in loops are sums too.
        return UNKNOWN
    name = name.removesuffix("_")
    given = [value for value in operands if value is not None]
    try:
        if name in _BINARY:
            return _BINARY[name](given[0], given[1])  # type: ignore[no-any-return]
        if name in _UNARY:
            return _UNARY[name](given[0])  # type: ignore[no-any-return]
        if name in _KEEPING:
            return given[0]  # type: ignore[no-any-return]
        if name == "zeros":
            return 0
    except (ArithmeticError, ValueError, TypeError, IndexError):
        return UNKNOWN
    return UNKNOWN
