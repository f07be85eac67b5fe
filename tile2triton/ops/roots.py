"""T.sqrt and its kind: roots, lengths, rests and signs of floats, element by element.

Each keeps the type of its operand; an integer becomes float32 first.
"""

import math
from typing import Any

import numpy as np

from tile2triton.ops.float_operator import float_operator


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


OPERATORS = (
    float_operator(sqrt, "tl.sqrt(x)", np.sqrt, math.sqrt),
    float_operator(rsqrt, "tl.rsqrt(x)", _rsqrt, _rsqrt),
    float_operator(hypot, "libdevice.hypot(x, y)", np.hypot, math.hypot),
    float_operator(fmod, "libdevice.fmod(x, y)", np.fmod, math.fmod),
    float_operator(copysign, "libdevice.copysign(x, y)", np.copysign, math.copysign),
)
