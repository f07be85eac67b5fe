"""T.argmax, T.argmin and T.topk of whole operands; T.max and T.min along axes."""

from typing import Any

import numpy as np

from rewrites.dtypes import is_float
from rewrites.operands.guards import WHERE
from rewrites.operands.joins import joined
from rewrites.operands.online import identity
from rewrites.operands.values import Making, Operand, Whole
from tile2triton.ops.base import Operator, WholeForm
from tile2triton.ops.whole.reductions import combined, refuse_nothing
from tile2triton.ops.whole.reductions import reference_max as reference_of_max
from tile2triton.ops.whole.reductions import reference_min as reference_of_min

# So many results are written out one after the other.
MOST_RESULTS = 64
_BEYOND = 2**31 - 1


def argmax(x: Any, axis: int = -1, keepdims: bool = False) -> Any:
    """The index of the greatest element along an axis, as int32; of equal ones, of the first."""


def argmin(x: Any, axis: int = -1, keepdims: bool = False) -> Any:
    """The index of the smallest element along an axis, as int32; of equal ones, of the first."""


def topk(x: Any, k: int, axis: int = -1) -> Any:
    """The k greatest elements along an axis in falling order, and their indices as int32.

    Of equal elements the first comes first. `values, indices = T.topk(x, 2)`. A row that no tile
    holds is read k times.
    """


def max(a: Any, b: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The larger of two elements, or with one operand the greatest along axes: `T.amax`."""


def min(a: Any, b: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The smaller of two elements, or with one operand the smallest along axes: `T.amin`."""


def make_argmax(making: Making, x: Operand, axis: int = -1, keepdims: bool = False) -> Whole:
    return _index(making, "max", making.whole(x, "T.argmax"), axis, keepdims)


def make_argmin(making: Making, x: Operand, axis: int = -1, keepdims: bool = False) -> Whole:
    return _index(making, "min", making.whole(x, "T.argmin"), axis, keepdims)


def _index(making: Making, how: str, operand: Whole, axis: int, keepdims: bool) -> Whole:
    """The smallest index at which the extreme stands."""
    dimension = making.dimension(operand, axis)
    refuse_nothing(making, operand, [dimension], f"arg{how}")
    extreme = making.reduced(how, operand, [dimension], keepdims=True)
    return making.hinted(_first(making, operand, extreme, dimension, keepdims), "index")


def _first(
    making: Making,
    operand: Whole,
    extreme: Whole,
    dimension: int,
    keepdims: bool,
    among: Whole | None = None,
) -> Whole:
    """The first index at which an operand is its extreme, `among` those that count."""
    is_it = making.pointwise("==", operand, extreme, dtype="bool")
    if is_float(operand.dtype):
        # Of elements of which one is NaN, that is the extreme, and equals nothing.
        is_nan = making.pointwise("!=", operand, operand, dtype="bool")
        is_it = making.pointwise("|", is_it, is_nan, dtype="bool")
    if among is not None:
        is_it = making.pointwise("&", is_it, among, dtype="bool")
    places = making.positions(operand.shape, dimension)
    index = making.pointwise("T.if_then_else", is_it, places, _BEYOND, dtype="int32")
    return making.reduced("min", making.hinted(index, "candidates"), [dimension], keepdims)


def make_topk(making: Making, x: Operand, k: int, axis: int = -1) -> tuple[Whole, Whole]:
    operand = making.whole(x, "T.topk")
    dimension = making.dimension(operand, axis)
    size = operand.shape[dimension]
    if not isinstance(k, int) or not 0 < k <= min_of(size.value, MOST_RESULTS):
        raise making.refuse(
            "T2T829",
            f"T.topk gives 1 to {min_of(size.value, MOST_RESULTS)} of {size} elements, not {k!r}",
            hint="sort longer rows with torch.sort before the kernel",
        )
    places = making.positions(operand.shape, dimension)
    values: list[Whole] = []
    indices: list[Whole] = []
    left: Whole | None = None
    for _ in range(k):
        candidates = operand
        if left is not None:
            lowest = identity("max", operand.dtype)
            candidates = making.pointwise(WHERE, left, operand, lowest, dtype=operand.dtype)
            candidates = making.hinted(candidates, "rest")
        value = making.reduced("max", candidates, [dimension], keepdims=True)
        value = making.hinted(value, "top")
        index = _first(making, candidates, value, dimension, True, left)
        index = making.hinted(index, "top_index")
        values.append(value)
        indices.append(index)
        left = making.hinted(_behind(making, operand, places, value, index), "left")
    return joined(making, values, dimension), joined(making, indices, dimension)


def _behind(making: Making, x: Whole, places: Whole, value: Whole, index: Whole) -> Whole:
    """Which elements come after one in falling order, where equal ones stand by their indices."""

    def test(symbol: str, one: Whole, other: Whole) -> Whole:
        return making.pointwise(symbol, one, other, dtype="bool")

    is_later = making.hinted(test(">", places, index), "later")
    is_equal = making.hinted(test("==", x, value), "equal")
    found = test("|", test("<", x, value), test("&", is_equal, is_later))
    if not is_float(x.dtype):
        return found
    # NaN is the greatest of all, and smaller and equal to none.
    is_other = test("|", test("==", x, x), is_later)
    return test("|", found, test("&", test("!=", value, value), is_other))


def min_of(a: int, b: int) -> int:
    return a if a < b else b


def make_max(
    making: Making, a: Operand, b: Any = None, axis: Any = None, keepdims: bool = False
) -> Whole:
    if b is not None:
        return making.pointwise("T.max", a, b)
    return combined(making, "max", a, axis, keepdims)


def make_min(
    making: Making, a: Operand, b: Any = None, axis: Any = None, keepdims: bool = False
) -> Whole:
    if b is not None:
        return making.pointwise("T.min", a, b)
    return combined(making, "min", a, axis, keepdims)


def reference_argmax(x: Any, axis: int = -1, keepdims: bool = False) -> Any:
    return np.asarray(x).argmax(axis, keepdims=keepdims).astype(np.int32)


def reference_argmin(x: Any, axis: int = -1, keepdims: bool = False) -> Any:
    return np.asarray(x).argmin(axis, keepdims=keepdims).astype(np.int32)


def reference_topk(x: Any, k: int, axis: int = -1) -> Any:
    x = np.asarray(x)
    # NaN stands before all numbers. Of whole numbers, ~x falls as x grows, and is exact.
    falling = -np.nan_to_num(x, posinf=np.inf, neginf=-np.inf) if x.dtype.kind == "f" else ~x
    order = np.lexsort((falling, x == x), axis=axis)
    indices = np.take(order, range(k), axis=axis)
    return np.take_along_axis(x, indices, axis), indices.astype(np.int32)


def reference_max(a: Any, b: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    if b is not None:
        return np.fmax(a, b)
    return reference_of_max(a, axis, keepdims)


def reference_min(a: Any, b: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    if b is not None:
        return np.fmin(a, b)
    return reference_of_min(a, axis, keepdims)


MAX = WholeForm(max, make_max, reference_max)
MIN = WholeForm(min, make_min, reference_min)

OPERATORS = (
    Operator(argmax, "whole", whole=WholeForm(argmax, make_argmax, reference_argmax)),
    Operator(argmin, "whole", whole=WholeForm(argmin, make_argmin, reference_argmin)),
    Operator(topk, "whole", whole=WholeForm(topk, make_topk, reference_topk)),
)
