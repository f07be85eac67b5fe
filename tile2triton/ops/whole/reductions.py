"""T.sum, T.mean, T.var, T.reduce and T.log_sum_exp of whole operands, over any of their axes."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rewrites.dtypes import BY_NAME, is_float
from rewrites.operands.guards import may_be_hidden
from rewrites.operands.terms import how_reduced
from rewrites.operands.values import Indices, Making, Operand, Whole
from tile2triton.ops.base import Operator, WholeForm

LOG2_E = math.log2(math.e)
KINDS = ("sum", "mean", "max", "min", "any", "all")


def sum(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The sum over an axis, over several, or over all; of integers it is an int32."""


def mean(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The mean over an axis, over several, or over all; of integers it is a float32."""


def var(x: Any, axis: Any = None, keepdims: bool = False, correction: int = 0) -> Any:
    """The mean square of the distance from the mean, as norms need it.

    Sums are divided by the number of elements less `correction`; torch's `var` has 1 there.
    """


def amax(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The greatest element along an axis, along several, or of all; NaN where one is."""


def amin(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The smallest element along an axis, along several, or of all; NaN where one is."""


def any(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether an element along the axes is not 0."""


def all(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether no element along the axes is 0."""


def log_sum_exp(x: Any, axis: Any = -1, keepdims: bool = False) -> Any:
    """The logarithm of the sum of exp(x) along the axes, computed with the maximum taken off."""


def reduce(op: Any, x: Any, axis: Any = -1, keepdims: bool = False) -> Any:
    """`op` along the axes: "sum", "mean", "max", "min", "any" or "all"."""


def reduce_over(x: Any, dim: Any = -1, keepdims: bool = False) -> Any:
    """The reduction along a dimension, or along several."""


def combined(
    making: Making, how: str, x: Operand, axis: Any, keepdims: bool, what: str = ""
) -> Whole:
    """One reduction in the type that holds its result."""
    operand = making.whole(x, f"T.{what or how}")
    over = making.dimensions(operand, axis)
    if how == "sum" and not is_float(operand.dtype) and BY_NAME[operand.dtype].bits < 64:
        operand = making.cast(operand, "int32")
    if how in ("max", "min"):
        refuse_nothing(making, operand, over, what or how)
    return making.reduced(how, operand, over, keepdims)


def refuse_nothing(making: Making, operand: Whole, over: Sequence[int], what: str) -> None:
    """Of no elements none is the greatest."""
    empty = [at for at in over if operand.shape[at].value == 0]
    if empty:
        raise making.refuse(
            "T2T841",
            f"T.{what} has nothing to choose from: {making.said(operand)} is empty along its axis "
            f"{empty[0]}",
            (f"{making.said(operand)}: {operand.shape_text}",),
            "hand it an operand that has an element there",
        )


def is_empty(operand: Whole, over: Sequence[int]) -> bool:
    """Whether there is nothing along the dimensions."""
    sizes = [operand.shape[dimension].value for dimension in over]
    return 0 in sizes


def _of_nothing(
    making: Making, operand: Whole, over: Sequence[int], keepdims: bool, value: Any, dtype: str = ""
) -> Whole:
    """What a reduction over nothing is, in the shape that it leaves."""
    shape = making.reduced("sum", operand, over, keepdims).shape
    return making.full(shape, value, dtype or operand.dtype)


def make_sum(making: Making, x: Operand, axis: Any = None, keepdims: bool = False) -> Whole:
    return combined(making, "sum", x, axis, keepdims)


def make_mean(making: Making, x: Operand, axis: Any = None, keepdims: bool = False) -> Whole:
    operand = making.whole(x, "T.mean")
    over = making.dimensions(operand, axis)
    if is_empty(operand, over):
        return _of_nothing(making, floats(making, operand), over, keepdims, math.nan)
    total = combined(making, "sum", floats(making, operand), axis, keepdims)
    total = making.hinted(total, "row_sum")
    made = making.pointwise("/", total, making.count(operand, axis), dtype=total.dtype)
    return making.hinted(made, "mean")


def make_var(
    making: Making, x: Operand, axis: Any = None, keepdims: bool = False, correction: int = 0
) -> Whole:
    operand = floats(making, making.whole(x, "T.var"))
    over = making.dimensions(operand, axis)
    if is_empty(operand, over):
        return _of_nothing(making, operand, over, keepdims, math.nan)
    distance = making.pointwise("-", operand, make_mean(making, operand, axis, True))
    distance = making.hinted(distance, "centered")
    square = making.pointwise("*", distance, distance)
    total = making.hinted(combined(making, "sum", square, axis, keepdims), "squares")
    count: Operand = making.count(operand, axis)
    if correction:
        count = making.pointwise("-", count, correction)
    return making.hinted(making.pointwise("/", total, count, dtype=total.dtype), "variance")


def floats(making: Making, operand: Whole) -> Whole:
    """The operand, integers as float32."""
    return operand if is_float(operand.dtype) else making.cast(operand, "float32")


def make_amax(making: Making, x: Operand, axis: Any = None, keepdims: bool = False) -> Whole:
    return combined(making, "max", x, axis, keepdims, "amax")


def make_amin(making: Making, x: Operand, axis: Any = None, keepdims: bool = False) -> Whole:
    return combined(making, "min", x, axis, keepdims, "amin")


def make_any(making: Making, x: Operand, axis: Any = None, keepdims: bool = False) -> Whole:
    return _asked(making, "max", x, axis, keepdims, "any")


def make_all(making: Making, x: Operand, axis: Any = None, keepdims: bool = False) -> Whole:
    return _asked(making, "min", x, axis, keepdims, "all")


def _asked(making: Making, how: str, x: Operand, axis: Any, keepdims: bool, what: str) -> Whole:
    operand = making.whole(x, f"T.{what}")
    over = making.dimensions(operand, axis)
    if is_empty(operand, over):
        return _of_nothing(making, operand, over, keepdims, how == "min", "bool")
    is_true = operand
    if operand.dtype != "bool":
        is_true = making.pointwise("!=", operand, 0, dtype="bool")
    found = making.reduced(how, making.cast(is_true, "int32"), over, keepdims)
    return making.pointwise("!=", found, 0, dtype="bool")


def make_log_sum_exp(making: Making, x: Operand, axis: Any = -1, keepdims: bool = False) -> Whole:
    operand = floats(making, making.whole(x, "T.log_sum_exp"))
    over = making.dimensions(operand, axis)
    if is_empty(operand, over):
        return _of_nothing(making, operand, over, keepdims, -math.inf)
    powers = making.pointwise("*", operand, LOG2_E)
    peak = making.reduced("max", powers, over, keepdims=True)
    shifted = making.pointwise("-", powers, peak)
    weights = making.hinted(making.pointwise("T.exp2", shifted), "weights")
    peak = peak if keepdims else making.reduced("max", powers, over, keepdims=False)
    total = making.hinted(making.reduced("sum", weights, over, keepdims), "row_sum")
    sums = making.pointwise("+", making.pointwise("T.log2", total), peak)
    is_infinite = making.pointwise("==", making.pointwise("T.abs", peak), math.inf, dtype="bool")
    # Where the greatest is infinite, so is the result, which inf - inf would make NaN.
    known = making.pointwise("T.if_then_else", is_infinite, peak, sums, dtype=sums.dtype)

    def at(indices: Indices) -> Any:
        greatest = peak.at(indices)
        is_open = False
        if greatest.kind == "reduce":
            axis = how_reduced(greatest)[1]
            is_open = may_be_hidden(greatest.operands[0], axis, is_part=False)
        chosen = known if is_open else sums
        return chosen.at(indices)

    safe = Whole(sums.shape, sums.dtype, at)
    return making.pointwise("*", safe, 1 / LOG2_E)


def make_reduce(
    making: Making, op: str, x: Operand, axis: Any = -1, keepdims: bool = False
) -> Whole:
    if op not in KINDS:
        raise making.refuse(
            "T2T828",
            f"T.reduce does not know {op!r}",
            hint=f"use one of {', '.join(map(repr, KINDS))}",
        )
    made: Whole = globals()[f"make_{op if op not in ('max', 'min') else 'a' + op}"](
        making, x, axis, keepdims
    )
    return made


def form_of(how: str) -> WholeForm:
    """What T.reduce_<how> is of whole operands."""

    def make(making: Making, x: Operand, dim: Any = -1, keepdims: bool = False) -> Whole:
        return combined(making, how, x, dim, keepdims, f"reduce_{how}")

    def reference(x: Any, dim: Any = -1, keepdims: bool = False) -> Any:
        return _REFERENCES[how](x, dim, keepdims)

    return WholeForm(reduce_over, make, reference)


def _over(of_array: Callable[..., Any]) -> Callable[..., Any]:
    def reference(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return of_array(np.asarray(x), axis=axis, keepdims=keepdims)

    return reference


def _sum(x: Any, axis: Any, keepdims: bool) -> Any:
    kind = None if x.dtype.kind == "f" else np.int64 if x.dtype.itemsize == 8 else np.int32
    return x.sum(axis=axis, keepdims=keepdims, dtype=kind)


def _mean(x: Any, axis: Any, keepdims: bool) -> Any:
    return _mean_of(x.astype(np.float64), axis, keepdims, 0)


def _mean_of(x: Any, axis: Any, keepdims: bool, correction: int) -> Any:
    """The sum over how many there are, less `correction`; NaN where there are none."""
    total = np.asarray(x.sum(axis=axis, keepdims=keepdims))
    count = x.size / (total.size or 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return total / (count - correction)


reference_sum = _over(_sum)
reference_mean = _over(_mean)
reference_max = _over(np.maximum.reduce)
reference_min = _over(np.minimum.reduce)
reference_any = _over(np.any)
reference_all = _over(np.all)
_REFERENCES = {
    "sum": reference_sum,
    "mean": reference_mean,
    "max": reference_max,
    "min": reference_min,
    "any": reference_any,
    "all": reference_all,
}


def reference_var(x: Any, axis: Any = None, keepdims: bool = False, correction: int = 0) -> Any:
    wide = np.asarray(x, np.float64)
    return _mean_of((wide - _mean(wide, axis, True)) ** 2, axis, keepdims, correction)


def reference_log_sum_exp(x: Any, axis: Any = -1, keepdims: bool = False) -> Any:
    wide = np.asarray(x, np.float64)
    peak = wide.max(axis=axis, keepdims=True, initial=-np.inf)
    shift = np.where(np.isfinite(peak), peak, 0.0)
    total = np.exp(wide - shift).sum(axis=axis, keepdims=keepdims)
    return np.log(total) + shift.reshape(total.shape)


def reference_reduce(op: str, x: Any, axis: Any = -1, keepdims: bool = False) -> Any:
    return _REFERENCES[op](x, axis, keepdims)


REDUCE = WholeForm(reduce, make_reduce, reference_reduce)


def _row(
    surface: Callable[..., Any],
    make: Callable[..., Any],
    reference: Callable[..., Any],
    *aliases: str,
) -> Operator:
    return Operator(surface, "whole", aliases=aliases, whole=WholeForm(surface, make, reference))


OPERATORS = (
    _row(sum, make_sum, reference_sum),
    _row(mean, make_mean, reference_mean),
    _row(var, make_var, reference_var),
    _row(amax, make_amax, reference_max),
    _row(amin, make_amin, reference_min),
    _row(any, make_any, reference_any),
    _row(all, make_all, reference_all),
    _row(log_sum_exp, make_log_sum_exp, reference_log_sum_exp, "logsumexp"),
)
