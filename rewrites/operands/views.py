"""Parts of whole operands: slices, picked indices, new and exchanged dimensions."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rewrites.dtypes import BY_NAME
from rewrites.operands.terms import Extent, Size
from rewrites.operands.values import ONE, Indices, Making, Whole


def sliced(making: Making, operand: Whole, index: Sequence[Any]) -> Whole:
    """`operand[index]`.

    An index is `...`, None, a number, a slice with step 1, or an operand of integers. Operands
    stand side by side and are broadcast to one shape, whose dimensions take their place.
    """
    picked = _complete(making, operand, index)
    chosen = [item for item in picked if isinstance(item, Whole)]
    spread = making.broadcast(chosen)
    _check_indices(making, picked)
    shape: list[Size] = []
    # For each dimension of the operand: where it starts, and the dimension that it becomes.
    places: list[tuple[int | Whole, int | None]] = []
    first = -1
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
        elif isinstance(item, Whole):
            if first < 0:
                first = len(shape)
                shape += spread
            places.append((item, None))
        else:
            places.append((_position(making, item, size), None))
        at += 1

    def element(indices: Indices) -> Any:
        terms = making.terms
        own = []
        for start, dimension in places:
            if isinstance(start, Whole):
                own.append(making.element(start, indices[first : first + len(spread)]))
            elif dimension is None:
                own.append(terms.number(start))
            elif start == 0:
                own.append(indices[dimension])
            else:
                own.append(terms.apply("+", (indices[dimension], terms.number(start)), "int32"))
        return operand.at(tuple(own))

    return Whole(tuple(shape), operand.dtype, element)


def _check_indices(making: Making, picked: Sequence[Any]) -> None:
    """Operands that are indices are integers, side by side."""
    places = [at for at, item in enumerate(picked) if isinstance(item, Whole)]
    wrong = [picked[at] for at in places if BY_NAME[picked[at].dtype].kind not in ("int", "uint")]
    if wrong:
        raise making.refuse(
            "T2T834",
            f"an operand that is an index is of integers, not of {wrong[0].dtype}",
            hint="where a condition chooses elements, write T.where(condition, x, 0)",
        )
    if places and places[-1] - places[0] >= len(places):
        raise making.refuse(
            "T2T834",
            "operands that are indices stand side by side",
            hint="index once after the other, or bring the dimensions together with T.permute",
        )


def gathered(making: Making, operand: Whole, index: Whole, dimension: int) -> Whole:
    """The elements at indices along one dimension; the other dimensions are broadcast."""
    _check_indices(making, [index])
    if index.rank != operand.rank:
        raise making.refuse(
            "T2T835",
            "T.gather takes an index of as many dimensions as the operand",
            (
                f"{making.said(operand)}: {operand.shape_text}",
                f"{making.said(index)}: {index.shape_text}",
            ),
            "write x[index] where the index has fewer",
        )
    shape = list(making.broadcast([_flat(operand, dimension), _flat(index, dimension)]))
    shape[dimension] = index.shape[dimension]

    def element(indices: Indices) -> Any:
        own = list(indices)
        own[dimension] = making.element(index, indices)
        zero = making.terms.number(0)
        return operand.at(
            tuple(
                zero if size == ONE and at != dimension else term
                for at, (size, term) in enumerate(zip(operand.shape, own, strict=True))
            )
        )

    return Whole(tuple(shape), operand.dtype, element)


def _flat(operand: Whole, dimension: int) -> Whole:
    """The operand with one extent as 1."""
    shape = (*operand.shape[:dimension], ONE, *operand.shape[dimension + 1 :])
    return replace(operand, shape=shape)


def reshaped(making: Making, operand: Whole, sizes: Sequence[Size]) -> Whole:
    """The same elements in the order of rows, in another shape."""
    shape = _without_minus_one(making, operand, sizes)
    groups = _groups([size.value for size in operand.shape], [size.value for size in shape])
    for old, new in groups:
        if len(old) == len(new) == 1:
            if sizes[new[0]].value != -1:
                making.sizes.same(operand.shape[old[0]], shape[new[0]])
            shape[new[0]] = operand.shape[old[0]]
        else:
            making.fixed.update(
                {operand.shape[at].name for at in old} | {shape[at].name for at in new}
            )

    def element(indices: Indices) -> Any:
        own = [making.terms.number(0)] * operand.rank
        for old, new in groups:
            if len(old) == len(new) == 1:
                own[old[0]] = indices[new[0]]
                continue
            along = [(indices[at], shape[at]) for at in new]
            parts = _taken_apart(making, along, [operand.shape[at] for at in old])
            for at, part in zip(old, parts, strict=True):
                own[at] = part
        return operand.at(tuple(own))

    return Whole(tuple(shape), operand.dtype, element)


def _without_minus_one(making: Making, operand: Whole, sizes: Sequence[Size]) -> list[Size]:
    """The shape with its -1 filled in."""
    total = math.prod(size.value for size in operand.shape)
    known = math.prod(size.value for size in sizes if size.value != -1)
    open_ones = sum(size.value == -1 for size in sizes)
    is_right = known > 0 and (total == known if not open_ones else total % known == 0)
    if open_ones > 1 or not is_right:
        raise making.refuse(
            "T2T836",
            f"{total} elements have no shape ({', '.join(map(str, sizes))})",
            (f"{making.said(operand)}: {operand.shape_text}",),
        )
    return [Size(total // known) if size.value == -1 else size for size in sizes]


def _groups(old: list[int], new: list[int]) -> list[tuple[list[int], list[int]]]:
    """The fewest dimensions of both shapes that have as many elements, from the first on."""
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(old) or j < len(new):
        ours: list[int] = []
        theirs: list[int] = []
        have = want = 1
        while not ours or not theirs or have != want:
            if j >= len(new) or (i < len(old) and have <= want):
                if i >= len(old):
                    break
                have *= old[i]
                ours.append(i)
                i += 1
            else:
                want *= new[j]
                theirs.append(j)
                j += 1
        groups.append((ours, theirs))
    return groups


def _taken_apart(making: Making, along: list[tuple[Any, Size]], sizes: Sequence[Size]) -> list[Any]:
    """The indices in some extents of the element that stands at indices of other extents."""
    terms = making.terms
    place: Any = terms.number(0)
    stride = 1
    for index, size in reversed(along):
        if size != ONE:
            step = index
            if stride > 1:
                step = terms.apply("*", (index, terms.number(stride)), "int32")
            place = step if stride == 1 else terms.apply("+", (step, place), "int32")
        stride *= size.value
    parts: list[Any] = []
    left = math.prod(size.value for size in sizes)
    for at, size in enumerate(sizes):
        left //= size.value
        part = place
        if size == ONE:
            part = terms.number(0)
        elif left > 1:
            part = terms.apply("//", (place, terms.number(left)), "int32")
        if size != ONE and at and math.prod(one.value for one in sizes[:at]) > 1:
            part = terms.apply("%", (part, terms.number(size.value)), "int32")
        parts.append(part)
    return parts


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
    if size.tile:
        raise making.of_tiles("one index of a tile of a loop")
    if not isinstance(item, int) or not -size.value <= item < size.value:
        raise making.refuse(
            "T2T802",
            f"the index {item!r} is outside of an extent of {size}",
            hint="whole operands are indexed with numbers, slices and operands of integers",
        )
    if item:
        # It is counted from the end, or may lie outside of a shorter extent.
        making.fixed.add(size.name)
    return item % size.value


def _bounds(making: Making, item: slice, size: Size) -> tuple[int, Size]:
    for part in (item.start, item.stop, item.step):
        if isinstance(part, Extent):
            making.fixed.add(part.name)
    start, stop, step = item.indices(size.value)
    if step != 1:
        raise making.refuse(
            "T2T802",
            f"a slice of a whole operand has step 1, not {step}",
            hint="write a kernel with T.Kernel for strided accesses",
        )
    if start == 0 and stop == size.value:
        return 0, size
    if size.tile:
        raise making.of_tiles("a part of a tile of a loop")
    making.fixed.add(size.name)
    if stop <= start:
        raise making.refuse("T2T802", f"the slice {start}:{stop} is empty")
    return start, Size(stop - start)
