"""T.sqrt and its kind: roots, lengths, rests and signs of floats, element by element.

Each keeps the type of its operand; an integer becomes float32 first.
"""

import ast
import math
from typing import Any

import numpy as np

from rewrites.dtypes import is_float
from rewrites.errors import refuse
from rewrites.quote import expr
from rewrites.space import Space
from rewrites.values import Value, cast, strong
from tile2triton.ops.base import Operator
from tile2triton.ops.float_operator import float_operator
from tile2triton.reference.values import Value as Number
from tile2triton.reference.values import as_floats, compute, float_function, typed


def sqrt(x: Any) -> Any:
    """The square root.

    | form | meaning | Triton |
    |---|---|---|
    | `T.sqrt(x)` | the square root | `tl.sqrt(x)` |
    """


def rsqrt(x: Any) -> Any:
    """1 divided by the square root.

    | form | meaning | Triton |
    |---|---|---|
    | `T.rsqrt(x)` | 1 divided by the square root | `tl.rsqrt(x)` |
    """


def hypot(x: Any, y: Any) -> Any:
    """The length of (x, y).

    | form | meaning | Triton |
    |---|---|---|
    | `T.hypot(x, y)` | the length of (x, y) | `libdevice.hypot(x, y)` |
    """


def fmod(x: Any, y: Any) -> Any:
    """The rest of x / y, with the sign of x.

    | form | meaning | Triton |
    |---|---|---|
    | `T.fmod(x, y)` | the rest of x / y, with the sign of x | `libdevice.fmod(x, y)` |
    """


def copysign(x: Any, y: Any) -> Any:
    """X with the sign of y.

    | form | meaning | Triton |
    |---|---|---|
    | `T.copysign(x, y)` | x with the sign of y | `libdevice.copysign(x, y)` |
    """


def _rsqrt(x: Any) -> Any:
    return 1.0 / math.sqrt(x) if isinstance(x, (int, float)) else x.dtype.type(1) / np.sqrt(x)


def fast_rcp(x: Any) -> Any:
    """1 / x.

    | form | meaning | Triton |
    |---|---|---|
    | `T.fast_rcp(x)` | the reciprocal | `1.0 / x` |
    """


def nextafter(x: Any, y: Any) -> Any:
    """The float that follows x in the direction of y; of float32 and float64.

    | form | meaning | Triton |
    |---|---|---|
    | `T.nextafter(x, y)` | the neighbour of x | `libdevice.nextafter(x, y)` |
    """


def ldexp(x: Any, y: Any) -> Any:
    """x times 2 to the power of y, a whole number.

    | form | meaning | Triton |
    |---|---|---|
    | `T.ldexp(x, y)` | x * 2**y | `libdevice.ldexp(x, y)` |
    """


def _reciprocal(x: Any) -> Any:
    return 1.0 / x if isinstance(x, (int, float)) else x.dtype.type(1) / x


def lower_nextafter(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> Value:
    """Between narrower floats float32 has more neighbours, so that it cannot stand in."""
    x, y = space.value(arguments["x"]), space.value(arguments["y"])
    typed = x if not x.weak else y
    if typed.dtype not in ("float32", "float64"):
        raise refuse(
            node,
            "T2T618",
            f"`{ast.unparse(node)}` takes float32 or float64",
            found=(f"`{ast.unparse(arguments['x'])}`: {x.dtype}",),
            hint="T.reinterpret the bits as an integer, and add or subtract 1",
        )
    a, b = strong(cast(x, typed.dtype)), strong(cast(y, typed.dtype))
    tree = expr("libdevice.nextafter(a, b)", a=a.tree, b=b.tree)
    return Value(tree, typed.dtype, a.axes | b.axes)


def lower_ldexp(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> Value:
    x, y = space.value(arguments["x"]), strong(cast(space.value(arguments["y"]), "int32"))
    dtype = x.dtype if is_float(x.dtype) else "float32"
    computed = "float64" if dtype == "float64" else "float32"
    wide = strong(cast(x, computed))
    tree = expr("libdevice.ldexp(x, y)", x=wide.tree, y=y.tree)
    return cast(Value(tree, computed, wide.axes | y.axes), dtype)


def reference_of_ldexp(x: Number, y: Number) -> Number:
    (x,) = as_floats(typed(x))
    return compute(lambda number: np.ldexp(number, typed(y).astype(np.int32)), x)


OPERATORS = (
    float_operator(fast_rcp, "1.0 / x", _reciprocal, _reciprocal),
    Operator(
        surface=nextafter,
        lower=lower_nextafter,
        kind="expression",
        reference=float_function(np.nextafter),
        gives="float",
    ),
    Operator(
        surface=ldexp,
        lower=lower_ldexp,
        kind="expression",
        reference=reference_of_ldexp,
        gives="float",
    ),
    float_operator(sqrt, "tl.sqrt(x)", np.sqrt, math.sqrt),
    float_operator(rsqrt, "tl.rsqrt(x)", _rsqrt, _rsqrt),
    float_operator(hypot, "libdevice.hypot(x, y)", np.hypot, math.hypot),
    float_operator(fmod, "libdevice.fmod(x, y)", np.fmod, math.fmod),
    float_operator(copysign, "libdevice.copysign(x, y)", np.copysign, math.copysign),
)
