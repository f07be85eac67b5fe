"""Where an operand lies in its tensor, and whether two operands can touch the same elements.

How much is touched is said by the tile that a copy moves or by the T.Parallel loops around, never
by the end of the tensor's slice, which means nothing.
"""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from rewrites.facts import Facts
from rewrites.ranges import range_of
from rewrites.tree import base_name, names_in, operator_call

# A name's value: its last assignment; of a loop variable, a run of the loop and a turn in it.
Version = int | tuple[int, int]
Versions = tuple[tuple[str, Version], ...]
ONE = ast.Constant(1)


@dataclass(frozen=True)
class Extent:
    """One extent of what an operator moves; an unknown one has the size 0."""

    tree: ast.expr
    size: int


@dataclass(frozen=True)
class Dimension:
    """What is touched in one dimension: `index`, where each lane runs over its width.

    A region's length is a lane of step 1 that has no name in `index`.
    """

    text: str
    versions: Versions
    index: ast.expr = field(compare=False)
    lanes: tuple[tuple[ast.expr | None, ast.expr], ...] = field(compare=False)


@dataclass(frozen=True)
class Place:
    """The elements of an operand; equal places are equal elements, shared out to threads alike."""

    text: str
    versions: Versions
    dimensions: tuple[Dimension, ...]


def place_of(
    operand: ast.expr,
    extents: tuple[Extent, ...] | None,
    lanes: Mapping[str, ast.expr],
    versions: Mapping[str, Version],
) -> Place:
    """The place of an operand; `extents` is what its operator moves, None for a single element."""
    names = names_in(operand) - {base_name(operand)} - lanes.keys()
    shape = [extent.tree for extent in extents or ()]
    text = " ".join(
        [
            ast.unparse(operand),
            *(f"{lane}:{ast.unparse(width)}" for lane, width in lanes.items()),
            *(ast.unparse(extent) for extent in shape),
        ]
    )
    return Place(text, _of(names, versions), tuple(_dimensions(operand, extents, lanes, versions)))


def moved_extents(statement: ast.stmt, facts: Facts) -> tuple[Extent, ...] | None:
    """The extents that a statement operator moves; None where the statement is no operator."""
    if operator_call(statement, *facts.operators) is None:
        return None
    call = operator_call(statement, "copy", "atomic_add")
    found = [
        _tile_extents(argument, facts)
        for argument in (call.args if call is not None else ())
        if base_name(argument) in facts.tiles
    ]
    unknown = (Extent(ONE, 0),)
    if not found or any([e.size for e in one] != [e.size for e in found[0]] for one in found):
        return unknown
    return found[0]


def are_apart(earlier: Place, later: Place, steps: Mapping[str, ast.expr]) -> bool:
    """Whether the turn of a loop moves the operand by its whole length in some dimension.

    `steps` are the steps of the loops around, by their variables. Named constants are no numbers
    here, since they may be edited in the emitted file.
    """
    if len(earlier.dimensions) != len(later.dimensions):
        return False
    for one, other in zip(earlier.dimensions, later.dimensions, strict=True):
        if one.text != other.text:
            continue
        changed = [
            (name, before, after)
            for (name, before), (_, after) in zip(one.versions, other.versions, strict=True)
            if before != after
        ]
        match changed:
            case [(name, (first_run, _), (second_run, _))] if first_run == second_run:
                if _steps_over(one, name, steps[name]):
                    return True
    return False


def _steps_over(dimension: Dimension, variable: str, stride: ast.expr) -> bool:
    factor = _coefficient(dimension.index, variable)
    if factor is None:
        return False
    step = _times(factor, stride)
    match dimension.lanes:
        case [(ast.Constant(value=1), width)] if ast.dump(width) == ast.dump(step):
            return True
    length = 1
    for lane, width in dimension.lanes:
        by, count = None if lane is None else _number(lane), _number(width)
        if by is None or count is None:
            return False
        length += abs(by) * (count - 1)
    distance = _number(step)
    return distance is not None and abs(distance) >= length


def _dimensions(
    operand: ast.expr,
    extents: tuple[Extent, ...] | None,
    lanes: Mapping[str, ast.expr],
    versions: Mapping[str, Version],
) -> list[Dimension]:
    if not isinstance(operand, ast.Subscript):
        return []
    indices = operand.slice.elts if isinstance(operand.slice, ast.Tuple) else [operand.slice]
    result = []
    for index, length in zip(indices, _lengths(indices, extents), strict=True):
        start = (index.lower or ast.Constant(0)) if isinstance(index, ast.Slice) else index
        named = sorted(names_in(start) & lanes.keys())
        runs = [(_coefficient(start, lane), lanes[lane]) for lane in named]
        if length is None or length.size != 1:
            runs.append((ONE, length.tree) if length is not None and length.size else (None, ONE))
        text = " ".join([ast.unparse(start), *(ast.unparse(width) for _, width in runs)])
        result.append(
            Dimension(text, _of(names_in(start) - lanes.keys(), versions), start, tuple(runs))
        )
    return result


def _lengths(indices: list[ast.expr], extents: tuple[Extent, ...] | None) -> list[Extent | None]:
    """How long the operand is in each dimension, None where that is unknown.

    Slices take the extents longer than 1 in order; a start takes all, aligned at the last one.
    """
    is_slice = [isinstance(index, ast.Slice) for index in indices]
    one: Extent | None = Extent(ONE, 1)
    if extents is None:
        return [None if sliced else one for sliced in is_slice]
    if any(is_slice):
        long = [extent for extent in extents if extent.size != 1]
        if len(long) != sum(is_slice):
            return [None if sliced else one for sliced in is_slice]
        rest = iter(long)
        return [next(rest) if sliced else one for sliced in is_slice]
    if any(extent.size == 0 for extent in extents):
        return [None] * len(indices)
    return [*[one] * len(indices), *extents][-len(indices) :]


def _tile_extents(operand: ast.expr, facts: Facts) -> tuple[Extent, ...]:
    tile = facts.tiles[base_name(operand) or ""]
    whole = tuple(Extent(tree, size) for tree, size in zip(tile.trees, tile.shape, strict=True))
    if not isinstance(operand, ast.Subscript):
        return whole
    indices = operand.slice.elts if isinstance(operand.slice, ast.Tuple) else [operand.slice]
    result = []
    for index, extent in zip(indices, whole, strict=True):
        match index:
            case ast.Slice(lower=None, upper=None):
                result.append(extent)
            case ast.Slice():
                result.append(Extent(ONE, 0))
            case _:
                result.append(Extent(ONE, 1))
    return tuple(result)


def _coefficient(tree: ast.expr, variable: str) -> ast.expr | None:
    """By how much the tree changes, up or down, with 1 more of the variable; None if not linear."""
    match tree:
        case ast.Name(id=name) if name == variable:
            return ONE
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() as op, right=right):
            inner, other = (left, right) if variable in names_in(left) else (right, left)
            factor = _coefficient(inner, variable)
            if factor is None or variable in names_in(other):
                return None
            return _times(factor, other) if isinstance(op, ast.Mult) else factor
    return None


def _times(first: ast.expr, second: ast.expr) -> ast.expr:
    if isinstance(first, ast.Constant) and first.value == 1:
        return second
    if isinstance(second, ast.Constant) and second.value == 1:
        return first
    return ast.BinOp(first, ast.Mult(), second)


def _number(tree: ast.expr) -> int | None:
    interval = range_of(tree, {})
    return interval.low if interval.low == interval.high else None


def _of(names: set[str], versions: Mapping[str, Version]) -> Versions:
    return tuple((name, versions.get(name, 0)) for name in sorted(names))
