"""T.atomic_add, T.atomic_update, T.copy and T.empty_like of whole operands."""

from typing import Any

import numpy as np

from rewrites.dtypes import is_float
from rewrites.operands.terms import Term
from rewrites.operands.values import Indices, Making, Operand, Whole
from tile2triton.ops.base import Operator, WholeForm
from tile2triton.reference.values import numpy_dtype


def copy(x: Any) -> Any:
    """The operand itself: where it lies is the transpiler's to choose."""


def empty_like(x: Any, dtype: Any = None) -> Any:
    """An operand of the shape of `x` whose elements are to be stored."""


def atomic_update(dst: Any, value: Any) -> Any:
    """Store `value`, broadcast to `dst`; gives what `dst` is then.

    `dst` is an operand, all of its tiles in a loop, or a parameter, which then changes in place.
    No two programs store to one element.
    """


def atomic_add(dst: Any, value: Any) -> Any:
    """Add every element of `value` to the one of `dst` that it meets; gives what `dst` is then.

    `dst` is broadcast to `value`: along extents that it does not have, `value` is summed. A
    parameter changes in place.
    """


def make_copy(making: Making, x: Operand) -> Whole:
    return making.whole(x, "T.copy")


def make_empty_like(making: Making, x: Operand, dtype: str | None = None) -> Whole:
    operand = making.whole(x, "T.empty_like")
    node = making.node

    def at(indices: Indices) -> Term:
        making.node = node
        raise making.refuse(
            "T2T856",
            "T.empty_like has no values until something is stored to it",
            hint="store to all of it before it is read, or begin with T.zeros_like",
        )

    return Whole(operand.shape, dtype or operand.dtype, at)


def make_atomic_update(making: Making, dst: Operand, value: Operand) -> Whole:
    target = making.whole(dst, "T.atomic_update")
    if isinstance(value, Whole):
        shape = making.broadcast((target, value))
        if len(shape) != target.rank or shape != target.shape:
            raise making.refuse(
                "T2T857",
                f"several elements would be stored to each element of {making.said(target)}",
                (
                    f"{making.said(target)}: {target.shape_text}",
                    f"{making.said(value)}: {value.shape_text}",
                ),
                "T.atomic_add adds them all",
            )

    def at(indices: Indices) -> Term:
        return _converted(making, making.element(value, indices), target.dtype)

    return Whole(target.shape, target.dtype, at)


def _converted(making: Making, term: Term, dtype: str) -> Term:
    """A term as what a tensor of a type holds; floats are rounded where they are stored."""
    if is_float(dtype) and is_float(term.dtype):
        return term
    return making.terms.cast(term, dtype)


def make_atomic_add(making: Making, dst: Operand, value: Operand) -> Whole:
    target = making.whole(dst, "T.atomic_add")
    added = value
    if isinstance(value, Whole):
        making.broadcast((target, value))
        missing = value.rank - target.rank
        over = [
            at
            for at, size in enumerate(value.shape)
            if size.value != 1 and (at < missing or target.shape[at - missing].value == 1)
        ]
        if over:
            added = making.reduced("sum", value, over, keepdims=True)
        if missing > 0:
            added = _last_dimensions(making, added, target.rank)
    total = making.pointwise("+", target, added)
    return make_atomic_update(making, target, total)


def _last_dimensions(making: Making, operand: Operand, rank: int) -> Whole:
    """An operand without its first dimensions, which are of 1."""
    assert isinstance(operand, Whole)
    leading = (making.terms.number(0),) * (operand.rank - rank)
    shape = operand.shape[operand.rank - rank :]
    whole = operand
    return Whole(shape, operand.dtype, lambda indices: whole.at((*leading, *indices)))


def reference_copy(x: Any) -> Any:
    return x


def reference_empty_like(x: Any, dtype: str | None = None) -> Any:
    kept = np.asarray(x).dtype if dtype is None else numpy_dtype(dtype)
    return np.zeros(np.shape(x), np.float64 if is_float(kept.name) else kept)


def reference_atomic_update(dst: Any, value: Any) -> Any:
    kept = np.asarray(dst)
    value = np.asarray(value)
    if value.dtype.kind == "f" and kept.dtype.kind in "iu":
        value = np.trunc(value)
    return np.broadcast_to(value.astype(kept.dtype), kept.shape)


def reference_atomic_add(dst: Any, value: Any) -> Any:
    kept, added = np.asarray(dst), np.asarray(value)
    missing = max(0, added.ndim - kept.ndim)
    over = [at for at in range(missing, added.ndim) if kept.shape[at - added.ndim] == 1]
    summed = added.sum((*range(missing), *over), keepdims=True)
    return reference_atomic_update(kept, kept + summed.reshape(summed.shape[missing:]))


COPY = WholeForm(copy, make_copy, reference_copy)
ATOMIC_ADD = WholeForm(atomic_add, make_atomic_add, reference_atomic_add)

OPERATORS = (
    Operator(
        empty_like, "whole", whole=WholeForm(empty_like, make_empty_like, reference_empty_like)
    ),
    Operator(
        atomic_update,
        "whole",
        whole=WholeForm(atomic_update, make_atomic_update, reference_atomic_update),
    ),
)
