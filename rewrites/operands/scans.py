"""What whole operands come to up to each index along one dimension.

| how | value at t |
|---|---|
| "sum", "prod", "max", "min" | x_0 to x_t combined |
| "linear" | h_t = a_t h_{t-1} + b_t, where h_{-1} is the state at the start |
"""

from collections.abc import Sequence

from rewrites.operands.terms import Axis, Size, Term
from rewrites.operands.values import ONE, Indices, Making, Operand, Whole, free_axis

# What a scan starts with.
STARTS = {"sum": 0.0, "prod": 1.0, "max": -float("inf"), "min": float("inf")}


def scanned(making: Making, how: str, operand: Whole, dimension: int) -> Whole:
    """All elements up to each one, combined."""
    return _along(making, how, operand.shape, operand.dtype, dimension, [operand])


def recurrence(making: Making, a: Operand, b: Operand, start: Operand, axis: int) -> Whole:
    """h_t = a_t h_{t-1} + b_t along an axis of what `a` and `b` are broadcast to.

    `start` is broadcast to the extents without that axis.
    """
    shape = making.broadcast((a, b))
    flat = Whole(shape, making.promoted((a, b, start)), lambda indices: making.terms.number(0))
    dimension = making.dimension(flat, axis)
    kept = _inserted(making, start, len(shape) - dimension - 1)
    shape = making.broadcast((flat, kept))
    dimension += len(shape) - flat.rank
    return _along(making, "linear", shape, flat.dtype, dimension, [a, b, kept])


def _inserted(making: Making, start: Operand, behind: int) -> Operand:
    """A state with a dimension of 1 in front of its last `behind` ones."""
    if not isinstance(start, Whole) or start.rank <= behind:
        return start
    at = start.rank - behind
    shape = (*start.shape[:at], ONE, *start.shape[at:])
    return Whole(shape, start.dtype, lambda own: start.at((*own[:at], *own[at + 1 :])), start.name)


def _along(
    making: Making,
    how: str,
    shape: tuple[Size, ...],
    dtype: str,
    dimension: int,
    operands: Sequence[Operand],
) -> Whole:
    if shape[dimension].tile:
        raise making.of_tiles("a scan along a tile of a loop")
    node = making.node
    making.suggest(shape[dimension], "L", "S")

    def scan(axis: Axis, indices: Indices) -> Term:
        along = list(indices)
        along[dimension] = making.terms.position(axis)
        terms = [making.computed(making.element(one, tuple(along))) for one in operands]
        kept = making.dtype_of(how, dtype, tuple(terms))
        return making.terms.scan(how, axis, tuple(terms), kept)

    def at(indices: Indices) -> Term:
        if shape[dimension] == ONE:
            return _only(making, how, operands, indices)
        index = indices[dimension]
        if index.kind == "axis":
            assert isinstance(index.detail, Axis)
            return scan(index.detail, indices)
        if _number(index) == shape[dimension].value - 1:
            making.fixed.add(shape[dimension].name)
            rest = [one for place, one in enumerate(indices) if place != dimension]
            term = scan(free_axis(shape[dimension], rest), indices)
            return making.terms.reduce("last", _axis(term), term, term.dtype)
        making.node = node
        raise making.refuse(
            "T2T850",
            "the values of a scan are known in their order: all of them, or the last one",
            hint="take the whole extent, or the index -1, of what is scanned along an axis; "
            "return the scan from a kernel of its own to read it in another order",
        )

    return Whole(shape, dtype, at)


def _number(index: Term) -> int | None:
    """The number that an index is, or the sum of two."""
    if index.kind == "number":
        assert isinstance(index.detail, int)
        return index.detail
    if index.kind == "apply" and index.detail == "+":
        left, right = map(_number, index.operands)
        return None if left is None or right is None else left + right
    return None


def _axis(term: Term) -> Axis:
    assert isinstance(term.detail, tuple)
    axis = term.detail[1]
    assert isinstance(axis, Axis)
    return axis


def _only(making: Making, how: str, operands: Sequence[Operand], indices: Indices) -> Term:
    """The value along an extent of 1."""
    terms = making.terms
    first, *rest = (making.element(one, indices) for one in operands)
    if not rest:
        return first
    added, start = rest
    product = terms.apply("*", (first, start), "float32")
    return terms.apply("+", (product, added), "float32")
