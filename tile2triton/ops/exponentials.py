"""T.exp and its kind: powers, logarithms and what is made of them, element by element.

Each keeps the type of its operand; an integer becomes float32 first.
"""

import math
from typing import Any

import numpy as np

from tile2triton.ops.float_operator import float_operator
from tile2triton.reference.values import Value


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


def pow(x: Any, y: Any) -> Any:
    """X to the power of y.

    | form | meaning | Triton |
    |---|---|---|
    | `T.pow(x, y)` | x to the power of y | `libdevice.pow(x, y)` |
    """


def sigmoid(x: Any) -> Any:
    """1 / (1 + e to the power of -x).

    | form | meaning | Triton |
    |---|---|---|
    | `T.sigmoid(x)` | 1 / (1 + e to the power of -x) | `tl.sigmoid(x)` |
    """


def erf(x: Any) -> Any:
    """The error function.

    | form | meaning | Triton |
    |---|---|---|
    | `T.erf(x)` | the error function | `tl.erf(x)` |
    """


def _exp10(x: Any) -> Any:
    return 10.0**x if isinstance(x, (int, float)) else np.power(x.dtype.type(10), x)


def _sigmoid(x: Any) -> Any:
    if isinstance(x, (int, float)):
        return 1.0 / (1.0 + math.exp(-x))
    return x.dtype.type(1) / (x.dtype.type(1) + np.exp(-x))


def _erf(x: Value) -> Value:
    return np.vectorize(math.erf, otypes=[np.float64])(x)


OPERATORS = (
    float_operator(exp, "tl.exp(x)", np.exp, math.exp, ("__exp",)),
    float_operator(exp2, "tl.exp2(x)", np.exp2, math.exp2),
    float_operator(
        exp10,
        "libdevice.exp10(x)",
        _exp10,
        _exp10,
        aliases=("__exp10",),
        # AMD's library has no `exp10`.
        on_amd="libdevice.pow(tl.cast(10.0, x.dtype), x)",
    ),
    float_operator(log, "tl.log(x)", np.log, math.log, ("__log",)),
    float_operator(log2, "tl.log2(x)", np.log2, math.log2, ("__log2",)),
    float_operator(log10, "libdevice.log10(x)", np.log10, math.log10, ("__log10",)),
    float_operator(log1p, "libdevice.log1p(x)", np.log1p, math.log1p),
    float_operator(pow, "libdevice.pow(x, y)", np.power, math.pow),
    float_operator(sigmoid, "tl.sigmoid(x)", _sigmoid, _sigmoid),
    float_operator(erf, "tl.erf(x)", _erf, math.erf),
)
