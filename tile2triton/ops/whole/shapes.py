"""Whole operands in other shapes: T.transpose, T.permute, T.reshape, T.concat, T.gather."""

from typing import Any

import numpy as np

from rewrites.operands.joins import joined
from rewrites.operands.terms import Extent, Size
from rewrites.operands.values import Making, Operand, Whole
from rewrites.operands.views import gathered, permuted, reshaped
from tile2triton.ops.base import Operator, WholeForm
from tile2triton.reference.elements import along


def transpose(x: Any, axis0: int = -2, axis1: int = -1) -> Any:
    """The operand with two of its axes exchanged; `x.mT` exchanges the last two, too."""


def permute(x: Any, order: Any) -> Any:
    """The operand with its axes in another order: `T.permute(x, (0, 2, 1))`."""


def reshape(x: Any, shape: Any) -> Any:
    """The same elements, row by row, in another shape; one extent may be -1.

    Extents are split and joined as far as those of the operand allow: (B, 64) is (B, 4, 16).
    """


def concat(operands: Any, axis: int = -1) -> Any:
    """Operands one after the other along an axis: `T.concat((a, b), axis=-1)`."""


def gather(x: Any, index: Any, axis: int = -1) -> Any:
    """The elements at the indices along an axis; `index` has as many dimensions as `x`.

    The other dimensions of both are equal, or 1. Indices count from 0; what lies outside of a
    tensor reads as 0.
    """


def make_transpose(making: Making, x: Operand, axis0: int = -2, axis1: int = -1) -> Whole:
    operand = making.whole(x, "T.transpose")
    order = list(range(operand.rank))
    first, second = (making.dimension(operand, axis) for axis in (axis0, axis1))
    order[first], order[second] = second, first
    return permuted(making, operand, order)


def make_permute(making: Making, x: Operand, order: Any) -> Whole:
    operand = making.whole(x, "T.permute")
    places = [making.dimension(operand, axis) for axis in order]
    if sorted(places) != list(range(operand.rank)):
        raise making.refuse(
            "T2T831",
            f"T.permute takes each of the {operand.rank} axes once, not {tuple(order)!r}",
            (f"{making.said(operand)}: {operand.shape_text}",),
        )
    return permuted(making, operand, places)


def make_reshape(making: Making, x: Operand, shape: Any) -> Whole:
    operand = making.whole(x, "T.reshape")
    extents = shape if isinstance(shape, tuple) else (shape,)
    sizes = [one.size if isinstance(one, Extent) else Size(int(one)) for one in extents]
    return reshaped(making, operand, sizes)


def make_concat(making: Making, operands: Any, axis: int = -1) -> Whole:
    if not isinstance(operands, tuple) or not operands:
        raise making.refuse(
            "T2T832",
            "T.concat takes the operands together, as a tuple",
            hint="write T.concat((a, b), axis=-1)",
        )
    wholes = [making.whole(one, "T.concat") for one in operands]
    return joined(making, wholes, making.dimension(wholes[0], axis))


def make_gather(making: Making, x: Operand, index: Operand, axis: int = -1) -> Whole:
    operand, indices = making.whole(x, "T.gather"), making.whole(index, "T.gather")
    return gathered(making, operand, indices, making.dimension(operand, axis))


def reference_transpose(x: Any, axis0: int = -2, axis1: int = -1) -> Any:
    return np.swapaxes(x, axis0, axis1)


def reference_permute(x: Any, order: Any) -> Any:
    return np.transpose(x, order)


def reference_reshape(x: Any, shape: Any) -> Any:
    return np.reshape(x, shape)


def reference_concat(operands: Any, axis: int = -1) -> Any:
    return np.concatenate(operands, axis)


def reference_gather(x: Any, index: Any, axis: int = -1) -> Any:
    return along(np.asarray(x), np.asarray(index), axis)


TRANSPOSE = WholeForm(transpose, make_transpose, reference_transpose)
RESHAPE = WholeForm(reshape, make_reshape, reference_reshape, takes_extents=True)

OPERATORS = (
    Operator(permute, "whole", whole=WholeForm(permute, make_permute, reference_permute)),
    Operator(
        concat, "whole", aliases=("cat",), whole=WholeForm(concat, make_concat, reference_concat)
    ),
    Operator(
        gather,
        "whole",
        aliases=("take_along_axis",),
        whole=WholeForm(gather, make_gather, reference_gather),
    ),
)
