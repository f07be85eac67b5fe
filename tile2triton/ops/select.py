"""T.if_then_else: one of two values, and only that one is evaluated."""

import ast
from typing import Any

import numpy as np

from rewrites.dtypes import is_float, promoted
from rewrites.quote import expr
from rewrites.scalars import as_condition, negate_condition
from rewrites.space import Space
from rewrites.values import Value as Typed
from rewrites.values import cast, operands, strong
from tile2triton.ops.base import Operator
from tile2triton.reference.values import Value, common


def if_then_else(cond: Any, t: Any, f: Any) -> Any:
    """`t` where `cond` holds, else `f`; `a if c else b` means the same.

    The value that is not taken is not evaluated, so that it may index out of bounds.

    | form | meaning | Triton |
    |---|---|---|
    | `T.if_then_else(i < n, A[i], 0)` | A[i] or 0 | `tl.where(i < n, tl.load(…, mask=…), 0)` |
    """


def reference(cond: Value, t: Value, f: Value) -> Value:
    taken, other = common(t, f)
    chosen: Value = np.where(np.asarray(cond) != 0, taken, other)
    return chosen[()]


def fold(cond: Any, t: Any, f: Any) -> Any:
    return t if cond else f


def lower(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> Typed:
    condition = as_condition(space.value(arguments["cond"]))
    with space.under(condition):
        taken = space.value(arguments["t"])
    with space.under(negate_condition(condition)):
        other = space.value(arguments["f"])
    dtype = promoted(taken.dtype, other.dtype)
    if taken.dtype == other.dtype:
        dtype = taken.dtype
    axes = condition.axes | taken.axes | other.axes
    computed = "float32" if dtype.startswith("float8") else dtype
    if dtype == "int64":
        # A literal of more than 32 bits; `tl.where` wants both numbers in one type.
        taken, other = strong(cast(taken, dtype)), strong(cast(other, dtype))
    a, b = operands(taken, other, computed)
    tree = expr("tl.where(c, a, b)", c=condition.tree, a=a.tree, b=b.tree)
    if a.weak and b.weak:
        # Two Python numbers make a float32 or an int32 in Triton.
        literal_dtype = "float32" if is_float(computed) else "int32"
        return cast(Typed(tree, literal_dtype, axes), dtype)
    return cast(Typed(tree, computed, axes), dtype)


OPERATORS = (
    Operator(
        surface=if_then_else,
        lower=lower,
        kind="expression",
        reference=reference,
        fold=fold,
        aliases=("Select",),
    ),
)
