"""T.sin and its kind: angles, and the hyperbolic functions, element by element.

Each keeps the type of its operand; an integer becomes float32 first.
"""

import math
from typing import Any

import numpy as np

from tile2triton.ops.float_operator import float_operator


def sin(x: Any) -> Any:
    """The sine.

    | form | meaning | Triton |
    |---|---|---|
    | `T.sin(x)` | the sine | `tl.sin(x)` |
    """


def cos(x: Any) -> Any:
    """The cosine.

    | form | meaning | Triton |
    |---|---|---|
    | `T.cos(x)` | the cosine | `tl.cos(x)` |
    """


def tan(x: Any) -> Any:
    """The tangent.

    | form | meaning | Triton |
    |---|---|---|
    | `T.tan(x)` | the tangent | `libdevice.tan(x)` |
    """


def asin(x: Any) -> Any:
    """The arc sine.

    | form | meaning | Triton |
    |---|---|---|
    | `T.asin(x)` | the arc sine | `libdevice.asin(x)` |
    """


def acos(x: Any) -> Any:
    """The arc cosine.

    | form | meaning | Triton |
    |---|---|---|
    | `T.acos(x)` | the arc cosine | `libdevice.acos(x)` |
    """


def atan(x: Any) -> Any:
    """The arc tangent.

    | form | meaning | Triton |
    |---|---|---|
    | `T.atan(x)` | the arc tangent | `libdevice.atan(x)` |
    """


def atan2(x: Any, y: Any) -> Any:
    """The angle of the point whose height is x and whose width is y.

    | form | meaning | Triton |
    |---|---|---|
    | `T.atan2(x, y)` | the angle of that point | `libdevice.atan2(x, y)` |
    """


def sinh(x: Any) -> Any:
    """The hyperbolic sine.

    | form | meaning | Triton |
    |---|---|---|
    | `T.sinh(x)` | the hyperbolic sine | `libdevice.sinh(x)` |
    """


def cosh(x: Any) -> Any:
    """The hyperbolic cosine.

    | form | meaning | Triton |
    |---|---|---|
    | `T.cosh(x)` | the hyperbolic cosine | `libdevice.cosh(x)` |
    """


def tanh(x: Any) -> Any:
    """The hyperbolic tangent.

    | form | meaning | Triton |
    |---|---|---|
    | `T.tanh(x)` | the hyperbolic tangent | `libdevice.tanh(x)` |
    """


def asinh(x: Any) -> Any:
    """The inverse hyperbolic sine.

    | form | meaning | Triton |
    |---|---|---|
    | `T.asinh(x)` | the inverse hyperbolic sine | `libdevice.asinh(x)` |
    """


def acosh(x: Any) -> Any:
    """The inverse hyperbolic cosine.

    | form | meaning | Triton |
    |---|---|---|
    | `T.acosh(x)` | the inverse hyperbolic cosine | `libdevice.acosh(x)` |
    """


def atanh(x: Any) -> Any:
    """The inverse hyperbolic tangent.

    | form | meaning | Triton |
    |---|---|---|
    | `T.atanh(x)` | the inverse hyperbolic tangent | `libdevice.atanh(x)` |
    """


OPERATORS = (
    float_operator(sin, "tl.sin(x)", np.sin, math.sin, ("__sin",)),
    float_operator(cos, "tl.cos(x)", np.cos, math.cos, ("__cos",)),
    float_operator(tan, "libdevice.tan(x)", np.tan, math.tan, ("__tan",)),
    float_operator(asin, "libdevice.asin(x)", np.arcsin, math.asin),
    float_operator(acos, "libdevice.acos(x)", np.arccos, math.acos),
    float_operator(atan, "libdevice.atan(x)", np.arctan, math.atan),
    float_operator(atan2, "libdevice.atan2(x, y)", np.arctan2, math.atan2),
    float_operator(sinh, "libdevice.sinh(x)", np.sinh, math.sinh),
    float_operator(cosh, "libdevice.cosh(x)", np.cosh, math.cosh),
    float_operator(tanh, "libdevice.tanh(x)", np.tanh, math.tanh),
    float_operator(asinh, "libdevice.asinh(x)", np.arcsinh, math.asinh),
    float_operator(acosh, "libdevice.acosh(x)", np.arccosh, math.acosh),
    float_operator(atanh, "libdevice.atanh(x)", np.arctanh, math.atanh),
)
