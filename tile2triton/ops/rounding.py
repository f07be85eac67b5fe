"""T.floor and its kind, T.abs, T.isnan: functions that look at a number's form."""

import ast
import builtins
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from rewrites import dtypes
from rewrites.quote import expr
from rewrites.space import Space
from rewrites.values import Value as Typed
from rewrites.values import cast, strong
from tile2triton.ops.base import Operator
from tile2triton.ops.lowerings import test_lowering, whole_lowering
from tile2triton.reference.values import Value, compute, dtype_of, typed


def abs(x: Any) -> Any:
    """The absolute value.

    | form | meaning | Triton |
    |---|---|---|
    | `T.abs(x)` | the absolute value | `tl.abs(x)` |
    """


def floor(x: Any) -> Any:
    """The largest whole number that is not above x, in the type of x.

    | form | meaning | Triton |
    |---|---|---|
    | `T.floor(x)` | rounded down | `tl.floor(x)` |
    """


def ceil(x: Any) -> Any:
    """The smallest whole number that is not below x, in the type of x.

    | form | meaning | Triton |
    |---|---|---|
    | `T.ceil(x)` | rounded up | `tl.ceil(x)` |
    """


def trunc(x: Any) -> Any:
    """The whole number next to x toward zero, in the type of x.

    | form | meaning | Triton |
    |---|---|---|
    | `T.trunc(x)` | rounded toward zero | `libdevice.trunc(x)` |
    """


def round(x: Any) -> Any:
    """The whole number nearest to x, halves away from zero, in the type of x.

    | form | meaning | Triton |
    |---|---|---|
    | `T.round(x)` | rounded to nearest, 2.5 to 3 | `libdevice.round(x)` |
    """


def nearbyint(x: Any) -> Any:
    """The whole number nearest to x, halves to the even one, in the type of x.

    | form | meaning | Triton |
    |---|---|---|
    | `T.nearbyint(x)` | rounded to nearest, 2.5 to 2 | `libdevice.nearbyint(x)` |
    """


def isnan(x: Any) -> Any:
    """Whether x is not a number.

    | form | meaning | Triton |
    |---|---|---|
    | `T.isnan(x)` | is NaN | `x != x` |
    """


def isinf(x: Any) -> Any:
    """Whether x is infinite.

    | form | meaning | Triton |
    |---|---|---|
    | `T.isinf(x)` | is infinite | `tl.abs(x) == float("inf")` |
    """


def isfinite(x: Any) -> Any:
    """Whether x is neither infinite nor NaN.

    | form | meaning | Triton |
    |---|---|---|
    | `T.isfinite(x)` | is a finite number | `tl.abs(x) < float("inf")` |
    """


def _whole(function: Callable[[Any], Any]) -> Callable[[Value], Value]:
    """Rounding of a float; an integer is whole already."""

    def reference(x: Value) -> Value:
        x = typed(x)
        return compute(function, x) if dtypes.is_float(dtype_of(x)) else x

    return reference


def _asked(function: Callable[[Any], Any]) -> Callable[[Value], Value]:
    def reference(x: Value) -> Value:
        return function(typed(x).astype(np.float64))

    return reference


def _folded(function: Callable[[Any], int]) -> Callable[[float], float]:
    """Rounding of a Python number, which keeps its type."""

    def fold(x: float) -> float:
        return function(x) if isinstance(x, int) else float(function(x))

    return fold


def _half_away(x: Any) -> Any:
    return np.copysign(np.floor(np.abs(x) + x.dtype.type(0.5)), x)


def _whole_half_away(x: float) -> int:
    whole = math.floor(builtins.abs(x) + 0.5)
    return -whole if x < 0 else whole


def reference_of_abs(x: Value) -> Value:
    return compute(np.abs, typed(x))


def lower_abs(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> Typed:
    value = strong(space.value(arguments["x"]))
    if value.dtype.startswith("float8"):
        widened = cast(value, "float32")
        return cast(Typed(expr("tl.abs(x)", x=widened.tree), "float32", value.axes), value.dtype)
    return Typed(expr("tl.abs(x)", x=value.tree), value.dtype, value.axes)


ABS = Operator(
    surface=abs,
    lower=lower_abs,
    kind="expression",
    reference=reference_of_abs,
    fold=builtins.abs,
    aliases=("fabs",),
)
FLOOR = Operator(
    surface=floor,
    lower=whole_lowering("tl.floor(x)"),
    kind="expression",
    reference=_whole(np.floor),
    fold=_folded(math.floor),
)
CEIL = Operator(
    surface=ceil,
    lower=whole_lowering("tl.ceil(x)"),
    kind="expression",
    reference=_whole(np.ceil),
    fold=_folded(math.ceil),
)
TRUNC = Operator(
    surface=trunc,
    lower=whole_lowering("libdevice.trunc(x)"),
    kind="expression",
    reference=_whole(np.trunc),
    fold=_folded(math.trunc),
)
ROUND = Operator(
    surface=round,
    lower=whole_lowering("libdevice.round(x)"),
    kind="expression",
    reference=_whole(_half_away),
    fold=_folded(_whole_half_away),
)
NEARBYINT = Operator(
    surface=nearbyint,
    lower=whole_lowering("libdevice.nearbyint(x)"),
    kind="expression",
    reference=_whole(np.rint),
    fold=_folded(builtins.round),
)
ISNAN = Operator(
    surface=isnan,
    lower=test_lowering("x != x"),
    kind="expression",
    reference=_asked(np.isnan),
    fold=math.isnan,
    gives="bool",
)
ISINF = Operator(
    surface=isinf,
    lower=test_lowering("tl.abs(x) == float('inf')"),
    kind="expression",
    reference=_asked(np.isinf),
    fold=math.isinf,
    gives="bool",
)
ISFINITE = Operator(
    surface=isfinite,
    lower=test_lowering("tl.abs(x) < float('inf')"),
    kind="expression",
    reference=_asked(np.isfinite),
    fold=math.isfinite,
    gives="bool",
)

OPERATORS = (ABS, FLOOR, CEIL, TRUNC, ROUND, NEARBYINT, ISNAN, ISINF, ISFINITE)
