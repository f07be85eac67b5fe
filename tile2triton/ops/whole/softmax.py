"""T.softmax and T.log_softmax, with the masks that attention gives them."""

import math
from typing import Any

import numpy as np

from rewrites.operands.evaluate import check_operand
from rewrites.operands.values import Making, Operand, Whole
from tile2triton.ops.base import Operator, WholeForm

LOG2_E = math.log2(math.e)


def softmax(x: Any, axis: int = -1, scale: Any = 1.0, mask: Any = None) -> Any:
    """exp(scale * x) over its sum along an axis, computed with the maximum taken off.

    Where `mask` is False, an element does not count and becomes 0. `mask=T.causal` masks what lies
    right of the diagonal that ends in the last row and column. A row that is masked whole is NaN.
    """


def log_softmax(x: Any, axis: int = -1) -> Any:
    """x minus the logarithm of the sum of exp(x) along an axis."""


def make_softmax(
    making: Making, x: Operand, axis: int = -1, scale: Operand = 1.0, mask: Any = None
) -> Whole:
    operand = making.whole(x, "T.softmax")
    dimension = making.dimension(operand, axis)
    # With log2(e) in the scale, exp2 computes exp.
    factor = making.pointwise("*", scale, LOG2_E) if isinstance(scale, Whole) else scale * LOG2_E
    if mask is None:
        powers = making.pointwise("*", operand, factor)
    elif not isinstance(scale, Whole) and scale > 0:
        # The scale keeps -inf, and stands outside of the maximum.
        powers = making.pointwise("*", _masked(making, operand, operand, mask), factor)
    else:
        powers = _masked(making, operand, making.pointwise("*", operand, factor), mask)
    peak = making.reduced("peak", powers, [dimension], keepdims=True)
    weights = making.pointwise("T.exp2", making.pointwise("-", powers, peak))
    total = making.reduced("sum", weights, [dimension], keepdims=True)
    return making.pointwise("/", weights, total)


def _masked(making: Making, operand: Whole, scores: Whole, mask: Any) -> Whole:
    """The scores of an operand, -inf where its mask is False."""
    visible = _visible(making, operand, mask)
    return making.pointwise("T.if_then_else", visible, scores, -math.inf, dtype=scores.dtype)


def _visible(making: Making, operand: Whole, mask: Any) -> Operand:
    if not isinstance(mask, str):
        check_operand(making, mask, "T.softmax's mask")
        result: Operand = mask
        return result
    if mask != "causal" or operand.rank < 2:
        raise making.refuse(
            "T2T880",
            f"there is no mask {mask!r}"
            if mask != "causal"
            else "T.causal masks rows against columns, but the operand has one dimension",
            (f"{making.said(operand)}: {operand.shape_text}",),
            "write mask=T.causal, or an operand that is True where elements count",
        )
    rows, columns = operand.shape[-2:]
    i = making.positions(operand.shape, operand.rank - 2)
    j = making.positions(operand.shape, operand.rank - 1)
    if not making.are_same(rows, columns):
        shift = making.pointwise("-", making.extent(columns), making.extent(rows))
        i = making.pointwise("+", i, shift)
    return making.pointwise("<=", j, i, dtype="bool")


def make_log_softmax(making: Making, x: Operand, axis: int = -1) -> Whole:
    operand = making.whole(x, "T.log_softmax")
    dimension = making.dimension(operand, axis)
    powers = making.pointwise("*", operand, LOG2_E)
    peak = making.reduced("peak", powers, [dimension], keepdims=True)
    weights = making.pointwise("T.exp2", making.pointwise("-", powers, peak))
    total = making.reduced("sum", weights, [dimension], keepdims=True)
    logarithm = making.pointwise("+", making.pointwise("T.log2", total), peak)
    return making.pointwise("-", operand, making.pointwise("*", logarithm, 1 / LOG2_E))


def reference_softmax(x: Any, axis: int = -1, scale: float = 1.0, mask: Any = None) -> Any:
    scores = np.asarray(x, np.float64) * scale
    if isinstance(mask, str):
        rows, columns = scores.shape[-2:]
        mask = np.arange(columns) <= np.arange(rows)[:, None] + columns - rows
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    with np.errstate(invalid="ignore"):
        weights = np.exp(scores - scores.max(axis, keepdims=True, initial=-np.inf))
        return weights / weights.sum(axis, keepdims=True)


def reference_log_softmax(x: Any, axis: int = -1) -> Any:
    moved = np.asarray(x, np.float64)
    moved = moved - moved.max(axis, keepdims=True, initial=-np.inf)
    return moved - np.log(np.exp(moved).sum(axis, keepdims=True))


OPERATORS = (
    Operator(
        surface=softmax,
        kind="whole",
        whole=WholeForm(softmax, make_softmax, reference_softmax),
    ),
    Operator(
        surface=log_softmax,
        kind="whole",
        whole=WholeForm(log_softmax, make_log_softmax, reference_log_softmax),
    ),
)
