"""T.cumsum, T.cumprod, T.cummax, T.cummin, T.scan and T.linear_scan of whole operands."""

from collections.abc import Callable
from typing import Any

import numpy as np

from rewrites.dtypes import BY_NAME, is_float
from rewrites.operands.scans import recurrence, scanned
from rewrites.operands.values import Making, Operand, Whole
from tile2triton.ops.base import Operator, WholeForm

_ACCUMULATING = {"sum": np.add, "prod": np.multiply, "max": np.fmax, "min": np.fmin}


def cumsum(x: Any, axis: int = -1) -> Any:
    """Each element becomes the sum of all up to it along an axis.

    Of integers that are narrower, it is an int32.
    """


def cumprod(x: Any, axis: int = -1) -> Any:
    """Each element becomes the product of all up to it along an axis, of floats."""


def cummax(x: Any, axis: int = -1) -> Any:
    """Each element becomes the largest of all up to it along an axis, NaN passed over."""


def cummin(x: Any, axis: int = -1) -> Any:
    """Each element becomes the smallest of all up to it along an axis, NaN passed over."""


def scan(op: str, x: Any, axis: int = -1) -> Any:
    """All elements up to each one along an axis, combined by "sum", "prod", "max" or "min"."""


def linear_scan(a: Any, b: Any, start: Any = 0.0, axis: int = -1, tile: Any = None) -> Any:
    """The linear recurrence h_t = a_t h_{t-1} + b_t along an axis of `a` and `b`, broadcast.

    `start` is h_{-1}: a number, or an operand without that axis. The last value is
    `T.linear_scan(...)[..., -1]` where the axis is the last one. Where the axis is run over in
    tiles, they are `tile` long.
    """


def _make(how: str) -> Callable[..., Whole]:
    def make(making: Making, x: Operand, axis: int = -1) -> Whole:
        operand = making.whole(x, f"T.cum{how}")
        if how == "prod" and not is_float(operand.dtype):
            raise making.refuse(
                "T2T866",
                "T.cumprod multiplies floats",
                (f"{making.said(operand)}: {operand.dtype}",),
                'convert it before, as by x.to("float32")',
            )
        if how == "sum" and not is_float(operand.dtype) and BY_NAME[operand.dtype].bits < 32:
            operand = making.cast(operand, "int32")
        return scanned(making, how, operand, making.dimension(operand, axis))

    return make


def _reference(how: str) -> Callable[..., Any]:
    def reference(x: Any, axis: int = -1) -> Any:
        x = np.asarray(x)
        is_narrow = how == "sum" and x.dtype.kind in "biu" and x.dtype.itemsize < 4
        return _ACCUMULATING[how].accumulate(x.astype(np.int32) if is_narrow else x, axis=axis)

    return reference


def make_scan(making: Making, op: str, x: Operand, axis: int = -1) -> Whole:
    if op not in _ACCUMULATING:
        raise making.refuse(
            "T2T852",
            f"T.scan does not know {op!r}",
            hint='it takes "sum", "prod", "max" or "min"; T.linear_scan computes recurrences',
        )
    return _make(op)(making, x, axis)


def reference_scan(op: str, x: Any, axis: int = -1) -> Any:
    return _reference(op)(x, axis)


def make_linear_scan(
    making: Making,
    a: Operand,
    b: Operand,
    start: Operand = 0.0,
    axis: int = -1,
    tile: int | None = None,
) -> Whole:
    made = recurrence(making, a, b, start, axis)
    if tile is not None:
        making.tiles[made.shape[axis].name] = tile
    return made


def reference_linear_scan(
    a: Any, b: Any, start: Any = 0.0, axis: int = -1, tile: int | None = None
) -> Any:
    a, b = np.broadcast_arrays(np.asarray(a, np.float64), np.asarray(b, np.float64))
    a, b = np.moveaxis(a, axis, 0), np.moveaxis(b, axis, 0)
    shape = np.broadcast_shapes(np.shape(start), a.shape[1:])
    state = np.broadcast_to(np.asarray(start, np.float64), shape)
    states = []
    for factor, added in zip(a, b, strict=True):
        state = factor * state + added
        states.append(state)
    behind = axis if axis < 0 else axis - a.ndim
    return np.moveaxis(np.stack(states), 0, behind)


CUMSUM = WholeForm(cumsum, _make("sum"), _reference("sum"))
LINEAR_SCAN = WholeForm(linear_scan, make_linear_scan, reference_linear_scan)
CUMMAX = WholeForm(cummax, _make("max"), _reference("max"))

OPERATORS = (
    Operator(cumprod, "whole", whole=WholeForm(cumprod, _make("prod"), _reference("prod"))),
    Operator(cummin, "whole", whole=WholeForm(cummin, _make("min"), _reference("min"))),
    Operator(scan, "whole", whole=WholeForm(scan, make_scan, reference_scan)),
)
