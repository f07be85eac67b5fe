"""Operands one after the other along a dimension."""

from collections.abc import Sequence

from rewrites.operands.terms import Size, Term
from rewrites.operands.values import ONE, Indices, Making, Whole


def joined(making: Making, wholes: Sequence[Whole], dimension: int) -> Whole:
    """The operands as one; the other extents of all are the same."""
    for one in wholes[1:]:
        _check_extents(making, wholes, one, dimension)
    if len(wholes) == 1:
        return wholes[0]
    first = wholes[0]
    sizes = [whole.shape[dimension] for whole in wholes]
    making.fixed.update({size.name for size in sizes})
    total = Size(sum(size.value for size in sizes))
    dtype = making.promoted(wholes)
    wholes = [making.as_integer(whole, dtype) for whole in wholes]
    starts = [sum(size.value for size in sizes[:at]) for at in range(len(sizes))]

    def element(indices: Indices) -> Term:
        terms = making.terms
        place = indices[dimension]
        made: Term | None = None
        for whole, start in reversed(list(zip(wholes, starts, strict=True))):
            size = whole.shape[dimension]
            own = _moved(making, place, start, size)
            term = whole.at((*indices[:dimension], own, *indices[dimension + 1 :]))
            if made is not None:
                stop = terms.number(start + size.value)
                test = terms.apply("<", (place, stop), "bool")
                kept = making.dtype_of("", dtype, ())
                term = terms.apply("T.if_then_else", (test, term, made), kept)
            made = term
        assert made is not None
        return made

    shape = (*first.shape[:dimension], total, *first.shape[dimension + 1 :])
    return Whole(shape, dtype, element, parts=tuple(wholes), along=dimension)


def _check_extents(making: Making, wholes: Sequence[Whole], one: Whole, dimension: int) -> None:
    first = wholes[0]
    is_same = one.rank == first.rank and all(
        at == dimension or making.sizes.same(size, own)
        for at, (size, own) in enumerate(zip(first.shape, one.shape, strict=True))
    )
    if not is_same:
        raise making.refuse(
            "T2T833",
            "the operands of T.concat differ in more than the axis along which they are joined",
            tuple(f"{making.said(whole)}: {whole.shape_text}" for whole in wholes),
        )


def _moved(making: Making, place: Term, start: int, size: Size) -> Term:
    """An index counted from where a part starts."""
    if size == ONE:
        return making.terms.number(0)
    if start == 0:
        return place
    return making.terms.apply("-", (place, making.terms.number(start)), "int32")
