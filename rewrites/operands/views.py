"""Parts of whole operands: slices, picked indices, new and exchanged dimensions."""

from collections.abc import Sequence
from typing import Any

from rewrites.operands.terms import Size
from rewrites.operands.values import ONE, Indices, Making, Whole


def sliced(making: Making, operand: Whole, index: Sequence[Any]) -> Whole:
    """`operand[index]`, where an index is `...`, None, a number, or a slice with step 1."""
    picked = _complete(making, operand, index)
    shape: list[Size] = []
    # For each dimension of the operand: where it starts, and the dimension that it becomes.
    places: list[tuple[int, int | None]] = []
    at = 0
    for item in picked:
        if item is None:
            shape.append(ONE)
            continue
        size = operand.shape[at]
        if isinstance(item, slice):
            start, extent = _bounds(making, item, size)
            places.append((start, len(shape)))
            shape.append(extent)
        else:
            places.append((_position(making, item, size), None))
        at += 1

    def element(indices: Indices) -> Any:
        terms = making.terms
        own = []
        for start, dimension in places:
            if dimension is None:
                own.append(terms.number(start))
            elif start == 0:
                own.append(indices[dimension])
            else:
                own.append(terms.apply("+", (indices[dimension], terms.number(start)), "int32"))
        return operand.at(tuple(own))

    return Whole(tuple(shape), operand.dtype, element)


def permuted(making: Making, operand: Whole, order: Sequence[int]) -> Whole:
    """The operand with its dimensions in another order."""
    shape = tuple(operand.shape[at] for at in order)

    def element(indices: Indices) -> Any:
        own = list(indices)
        for place, at in enumerate(order):
            own[at] = indices[place]
        return operand.at(tuple(own))

    return Whole(shape, operand.dtype, element)


def _complete(making: Making, operand: Whole, index: Sequence[Any]) -> list[Any]:
    """The index with `...` written out, and whole dimensions where it says nothing."""
    given = sum(item is not None and item is not ... for item in index)
    if given > operand.rank or sum(item is ... for item in index) > 1:
        raise making.refuse(
            "T2T802",
            f"`{making.said(operand)}` has {operand.rank} dimensions, but is given {given} indices",
            (f"{making.said(operand)}: {operand.shape_text}",),
        )
    rest = [slice(None)] * (operand.rank - given)
    if ... not in [item for item in index if item is ...]:
        return [*index, *rest]
    at = next(place for place, item in enumerate(index) if item is ...)
    return [*index[:at], *rest, *index[at + 1 :]]


def _position(making: Making, item: Any, size: Size) -> int:
    if not isinstance(item, int) or not -size.value <= item < size.value:
        raise making.refuse(
            "T2T802",
            f"the index {item!r} is outside of an extent of {size}",
            hint="whole operands are indexed with numbers and slices",
        )
    if item < 0:
        making.fixed.add(size.name)
    return item % size.value


def _bounds(making: Making, item: slice, size: Size) -> tuple[int, Size]:
    start, stop, step = item.indices(size.value)
    if step != 1:
        raise making.refuse(
            "T2T802",
            f"a slice of a whole operand has step 1, not {step}",
            hint="write a kernel with T.Kernel for strided accesses",
        )
    if start == 0 and stop == size.value:
        return 0, size
    making.fixed.add(size.name)
    if stop <= start:
        raise making.refuse("T2T802", f"the slice {start}:{stop} is empty")
    return start, Size(stop - start)
