"""T.min, T.max, T.minimum, T.maximum, T.clamp: the smaller, the larger, and both."""

import ast
import builtins
from typing import Any

import numpy as np

from rewrites.dtypes import is_float, promoted
from rewrites.space import Space
from rewrites.values import Value as Typed
from tile2triton.ops.base import Operator
from tile2triton.ops.lowerings import Lower, pair, pair_lowering
from tile2triton.ops.whole import extrema as whole
from tile2triton.reference.values import Value, common, compute


def min(a: Any, b: Any) -> Any:
    """The smaller of two values; of a number and a NaN, the number.

    | form | meaning | Triton |
    |---|---|---|
    | `T.min(a, b)` | the smaller | `tl.minimum(a, b)` |
    """


def max(a: Any, b: Any) -> Any:
    """The larger of two values; of a number and a NaN, the number.

    | form | meaning | Triton |
    |---|---|---|
    | `T.max(a, b)` | the larger | `tl.maximum(a, b)` |
    """


def minimum(a: Any, b: Any) -> Any:
    """The smaller of two values, as torch has it; of a number and a NaN, NaN.

    | form | meaning | Triton |
    |---|---|---|
    | `T.minimum(a, b)` | smaller | `tl.minimum(a, b, propagate_nan=tl.PropagateNan.ALL)` |
    """


def maximum(a: Any, b: Any) -> Any:
    """The larger of two values, as torch has it; of a number and a NaN, NaN.

    | form | meaning | Triton |
    |---|---|---|
    | `T.maximum(a, b)` | larger | `tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)` |
    """


def clamp(dst: Any, min_val: Any, max_val: Any) -> Any:
    """The value moved into the range from `min_val` to `max_val`.

    | form | meaning | Triton |
    |---|---|---|
    | `T.clamp(x, lo, hi)` | `T.min(T.max(x, lo), hi)` | `tl.minimum(tl.maximum(x, lo), hi)` |
    """


def reference_of_min(a: Value, b: Value) -> Value:
    return compute(np.fmin, *common(a, b))


def reference_of_max(a: Value, b: Value) -> Value:
    return compute(np.fmax, *common(a, b))


def reference_of_minimum(a: Value, b: Value) -> Value:
    return compute(np.minimum, *common(a, b))


def reference_of_maximum(a: Value, b: Value) -> Value:
    return compute(np.maximum, *common(a, b))


def reference_of_clamp(dst: Value, min_val: Value, max_val: Value) -> Value:
    return reference_of_min(reference_of_max(dst, min_val), max_val)


def fold_min(a: Any, b: Any) -> Any:
    return _common(builtins.min(a, b), a, b)


def fold_max(a: Any, b: Any) -> Any:
    return _common(builtins.max(a, b), a, b)


def fold_clamp(dst: Any, min_val: Any, max_val: Any) -> Any:
    return fold_min(fold_max(dst, min_val), max_val)


def _common(chosen: Any, a: Any, b: Any) -> Any:
    """The chosen number in the type that both have together."""
    return float(chosen) if isinstance(a, float) or isinstance(b, float) else chosen


def _with_nan(template: str) -> Lower:
    """A function of two operands of which either makes NaN; integers have none."""

    def lower(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> Typed:
        left, right = (space.value(tree) for tree in arguments.values())
        is_number = is_float(promoted(left.dtype, right.dtype))
        nan = ", propagate_nan=tl.PropagateNan.ALL" if is_number else ""
        return pair(template.format(nan=nan), left, right)

    return lower


def lower_clamp(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> Typed:
    value, low, high = (space.value(tree) for tree in arguments.values())
    return pair("tl.minimum(a, b)", pair("tl.maximum(a, b)", value, low), high)


MIN = Operator(
    surface=min,
    lower=pair_lowering("tl.minimum(a, b)"),
    kind="expression",
    reference=reference_of_min,
    fold=fold_min,
    whole=whole.MIN,
)
MAX = Operator(
    surface=max,
    lower=pair_lowering("tl.maximum(a, b)"),
    kind="expression",
    reference=reference_of_max,
    fold=fold_max,
    whole=whole.MAX,
)
MINIMUM = Operator(
    surface=minimum,
    lower=_with_nan("tl.minimum(a, b{nan})"),
    kind="expression",
    reference=reference_of_minimum,
    fold=fold_min,
)
MAXIMUM = Operator(
    surface=maximum,
    lower=_with_nan("tl.maximum(a, b{nan})"),
    kind="expression",
    reference=reference_of_maximum,
    fold=fold_max,
)
CLAMP = Operator(
    surface=clamp,
    lower=lower_clamp,
    kind="expression",
    reference=reference_of_clamp,
    fold=fold_clamp,
)

OPERATORS = (MIN, MAX, MINIMUM, MAXIMUM, CLAMP)
