"""T.exp and its kind: functions of floats, element by element.

Each keeps the type of its operand; an integer becomes float32 first.
"""

import math
from typing import Any

import numpy as np

from tile2triton.ops.base import Operator
from tile2triton.ops.lowerings import float_lowering
from tile2triton.reference.values import Value, float_function


def exp(x: Any) -> Any:
    """E to the power of x.

    | form | meaning | Triton |
    |---|---|---|
    | `T.exp(x)` | e to the power of x | `tl.exp(x)` |
    """


def exp2(x: Any) -> Any:
    """2 to the power of x.

    | form | meaning | Triton |
    |---|---|---|
    | `T.exp2(x)` | 2 to the power of x | `tl.exp2(x)` |
    """


def exp10(x: Any) -> Any:
    """10 to the power of x.

    | form | meaning | Triton |
    |---|---|---|
    | `T.exp10(x)` | 10 to the power of x | `libdevice.exp10(x)` |
    """


def log(x: Any) -> Any:
    """The natural logarithm.

    | form | meaning | Triton |
    |---|---|---|
    | `T.log(x)` | the natural logarithm | `tl.log(x)` |
    """


def log2(x: Any) -> Any:
    """The logarithm to base 2.

    | form | meaning | Triton |
    |---|---|---|
    | `T.log2(x)` | the logarithm to base 2 | `tl.log2(x)` |
    """


def log10(x: Any) -> Any:
    """The logarithm to base 10.

    | form | meaning | Triton |
    |---|---|---|
    | `T.log10(x)` | the logarithm to base 10 | `libdevice.log10(x)` |
    """


def log1p(x: Any) -> Any:
    """The natural logarithm of 1 + x.

    | form | meaning | Triton |
    |---|---|---|
    | `T.log1p(x)` | the natural logarithm of 1 + x | `libdevice.log1p(x)` |
    """


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


def erf(x: Any) -> Any:
    """The error function.

    | form | meaning | Triton |
    |---|---|---|
    | `T.erf(x)` | the error function | `tl.erf(x)` |
    """


def sigmoid(x: Any) -> Any:
    """1 / (1 + e to the power of -x).

    | form | meaning | Triton |
    |---|---|---|
    | `T.sigmoid(x)` | 1 / (1 + e to the power of -x) | `tl.sigmoid(x)` |
    """


def pow(x: Any, y: Any) -> Any:
    """X to the power of y.

    | form | meaning | Triton |
    |---|---|---|
    | `T.pow(x, y)` | x to the power of y | `libdevice.pow(x, y)` |
    """


def atan2(x: Any, y: Any) -> Any:
    """The angle of the point whose height is x and whose width is y.

    | form | meaning | Triton |
    |---|---|---|
    | `T.atan2(x, y)` | the angle of that point | `libdevice.atan2(x, y)` |
    """


def fmod(x: Any, y: Any) -> Any:
    """The rest of x / y, with the sign of x.

    | form | meaning | Triton |
    |---|---|---|
    | `T.fmod(x, y)` | the rest of x / y, with the sign of x | `libdevice.fmod(x, y)` |
    """


def hypot(x: Any, y: Any) -> Any:
    """The length of (x, y).

    | form | meaning | Triton |
    |---|---|---|
    | `T.hypot(x, y)` | the length of (x, y) | `libdevice.hypot(x, y)` |
    """


def copysign(x: Any, y: Any) -> Any:
    """X with the sign of y.

    | form | meaning | Triton |
    |---|---|---|
    | `T.copysign(x, y)` | x with the sign of y | `libdevice.copysign(x, y)` |
    """


def _exp10(x: Any) -> Any:
    return 10.0**x if isinstance(x, (int, float)) else np.power(x.dtype.type(10), x)


def _rsqrt(x: Any) -> Any:
    return 1.0 / math.sqrt(x) if isinstance(x, (int, float)) else x.dtype.type(1) / np.sqrt(x)


def _sigmoid(x: Any) -> Any:
    if isinstance(x, (int, float)):
        return 1.0 / (1.0 + math.exp(-x))
    return x.dtype.type(1) / (x.dtype.type(1) + np.exp(-x))


def _erf(x: Value) -> Value:
    return np.vectorize(math.erf, otypes=[np.float64])(x)


EXP = Operator(
    surface=exp,
    lower=float_lowering("tl.exp(x)"),
    kind="expression",
    reference=float_function(np.exp),
    fold=math.exp,
)
EXP2 = Operator(
    surface=exp2,
    lower=float_lowering("tl.exp2(x)"),
    kind="expression",
    reference=float_function(np.exp2),
    fold=math.exp2,
)
EXP10 = Operator(
    surface=exp10,
    lower=float_lowering("libdevice.exp10(x)"),
    kind="expression",
    reference=float_function(_exp10),
    fold=_exp10,
)
LOG = Operator(
    surface=log,
    lower=float_lowering("tl.log(x)"),
    kind="expression",
    reference=float_function(np.log),
    fold=math.log,
)
LOG2 = Operator(
    surface=log2,
    lower=float_lowering("tl.log2(x)"),
    kind="expression",
    reference=float_function(np.log2),
    fold=math.log2,
)
LOG10 = Operator(
    surface=log10,
    lower=float_lowering("libdevice.log10(x)"),
    kind="expression",
    reference=float_function(np.log10),
    fold=math.log10,
)
LOG1P = Operator(
    surface=log1p,
    lower=float_lowering("libdevice.log1p(x)"),
    kind="expression",
    reference=float_function(np.log1p),
    fold=math.log1p,
)
SIN = Operator(
    surface=sin,
    lower=float_lowering("tl.sin(x)"),
    kind="expression",
    reference=float_function(np.sin),
    fold=math.sin,
)
COS = Operator(
    surface=cos,
    lower=float_lowering("tl.cos(x)"),
    kind="expression",
    reference=float_function(np.cos),
    fold=math.cos,
)
TAN = Operator(
    surface=tan,
    lower=float_lowering("libdevice.tan(x)"),
    kind="expression",
    reference=float_function(np.tan),
    fold=math.tan,
)
ASIN = Operator(
    surface=asin,
    lower=float_lowering("libdevice.asin(x)"),
    kind="expression",
    reference=float_function(np.arcsin),
    fold=math.asin,
)
ACOS = Operator(
    surface=acos,
    lower=float_lowering("libdevice.acos(x)"),
    kind="expression",
    reference=float_function(np.arccos),
    fold=math.acos,
)
ATAN = Operator(
    surface=atan,
    lower=float_lowering("libdevice.atan(x)"),
    kind="expression",
    reference=float_function(np.arctan),
    fold=math.atan,
)
SINH = Operator(
    surface=sinh,
    lower=float_lowering("libdevice.sinh(x)"),
    kind="expression",
    reference=float_function(np.sinh),
    fold=math.sinh,
)
COSH = Operator(
    surface=cosh,
    lower=float_lowering("libdevice.cosh(x)"),
    kind="expression",
    reference=float_function(np.cosh),
    fold=math.cosh,
)
TANH = Operator(
    surface=tanh,
    lower=float_lowering("libdevice.tanh(x)"),
    kind="expression",
    reference=float_function(np.tanh),
    fold=math.tanh,
)
ASINH = Operator(
    surface=asinh,
    lower=float_lowering("libdevice.asinh(x)"),
    kind="expression",
    reference=float_function(np.arcsinh),
    fold=math.asinh,
)
ACOSH = Operator(
    surface=acosh,
    lower=float_lowering("libdevice.acosh(x)"),
    kind="expression",
    reference=float_function(np.arccosh),
    fold=math.acosh,
)
ATANH = Operator(
    surface=atanh,
    lower=float_lowering("libdevice.atanh(x)"),
    kind="expression",
    reference=float_function(np.arctanh),
    fold=math.atanh,
)
SQRT = Operator(
    surface=sqrt,
    lower=float_lowering("tl.sqrt(x)"),
    kind="expression",
    reference=float_function(np.sqrt),
    fold=math.sqrt,
)
RSQRT = Operator(
    surface=rsqrt,
    lower=float_lowering("tl.rsqrt(x)"),
    kind="expression",
    reference=float_function(_rsqrt),
    fold=_rsqrt,
)
ERF = Operator(
    surface=erf,
    lower=float_lowering("tl.erf(x)"),
    kind="expression",
    reference=float_function(_erf),
    fold=math.erf,
)
SIGMOID = Operator(
    surface=sigmoid,
    lower=float_lowering("tl.sigmoid(x)"),
    kind="expression",
    reference=float_function(_sigmoid),
    fold=_sigmoid,
)
POW = Operator(
    surface=pow,
    lower=float_lowering("libdevice.pow(x, y)"),
    kind="expression",
    reference=float_function(np.power),
    fold=math.pow,
)
ATAN2 = Operator(
    surface=atan2,
    lower=float_lowering("libdevice.atan2(x, y)"),
    kind="expression",
    reference=float_function(np.arctan2),
    fold=math.atan2,
)
FMOD = Operator(
    surface=fmod,
    lower=float_lowering("libdevice.fmod(x, y)"),
    kind="expression",
    reference=float_function(np.fmod),
    fold=math.fmod,
)
HYPOT = Operator(
    surface=hypot,
    lower=float_lowering("libdevice.hypot(x, y)"),
    kind="expression",
    reference=float_function(np.hypot),
    fold=math.hypot,
)
COPYSIGN = Operator(
    surface=copysign,
    lower=float_lowering("libdevice.copysign(x, y)"),
    kind="expression",
    reference=float_function(np.copysign),
    fold=math.copysign,
)

OPERATORS = (
    EXP,
    EXP2,
    EXP10,
    LOG,
    LOG2,
    LOG10,
    LOG1P,
    SIN,
    COS,
    TAN,
    ASIN,
    ACOS,
    ATAN,
    SINH,
    COSH,
    TANH,
    ASINH,
    ACOSH,
    ATANH,
    SQRT,
    RSQRT,
    ERF,
    SIGMOID,
    POW,
    ATAN2,
    FMOD,
    HYPOT,
    COPYSIGN,
)
