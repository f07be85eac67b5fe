"""Which elements of shared memory a statement of some threads touches, as far as it is known."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rewrites.apart import Extent, moved_extents
from rewrites.evaluate import UnknownValueError, evaluate
from rewrites.facts import Facts
from rewrites.quote import substituted
from rewrites.ranges import Range
from rewrites.tree import base_name, index_list, operator_call, walk


@dataclass(frozen=True)
class Span:
    """The indices from `base + low` to below `base + high`; `base` is a sum of unknown names."""

    base: frozenset[tuple[str, int]]
    low: int
    high: int

    def is_apart(self, other: "Span") -> bool:
        """Whether no index is in both."""
        return self.base == other.base and (self.high <= other.low or other.high <= self.low)


# One span a dimension, None where nothing is known; no spans stand for all elements.
Spans = tuple[Span | None, ...]


@dataclass(frozen=True)
class Touch:
    """One operand: the memory, the name it is called by (a view is another), and where."""

    storage: str
    name: str
    writes: bool
    spans: Spans = ()
    is_atomic: bool = False

    def meets(self, other: "Touch") -> bool:
        """Whether the order of the two may matter."""
        if self.storage != other.storage or not (self.writes or other.writes):
            return False
        if (self.is_atomic and other.is_atomic) or self.name != other.name:
            return self.name != other.name and not (self.is_atomic and other.is_atomic)
        return not any(
            one is not None and two is not None and one.is_apart(two)
            for one, two in zip(self.spans, other.spans, strict=False)
        )


@dataclass(frozen=True)
class Known:
    """What names stand for: numbers, lets, and the ranges of the loops around."""

    values: Mapping[str, Any] = field(default_factory=dict)
    lets: Mapping[str, ast.expr] = field(default_factory=dict)
    ranges: Mapping[str, Range] = field(default_factory=dict)
    # Names that are the same wherever they stand: programs of the grid, sizes, scalars.
    fixed: frozenset[str] = frozenset()


def storage_of(name: str | None, facts: Facts) -> str | None:
    """The tensor or tile whose memory the name stands for."""
    if name in facts.tiles:
        return facts.tiles[name].storage
    if name in facts.tensors:
        return facts.tensors[name].storage
    return None


def touches(statement: ast.stmt, known: Known, facts: Facts) -> Iterator[Touch]:
    """The accesses of a statement without blocks to tiles and tensors, reads first."""
    extents = moved_extents(statement, facts)
    call = operator_call(statement, *facts.operators)
    operands = {id(part) for part in call.args} if call is not None else set()
    nodes = walk(statement)
    skipped = {id(node.value) for node in nodes if isinstance(node, ast.Subscript)}
    written: list[tuple[ast.expr, bool]] = []
    for node in nodes:
        match node:
            case ast.Assign(targets=[target]):
                written.append((target, False))
                skipped.add(id(target))
            case ast.AugAssign(target=target):
                written.append((target, False))
            case ast.Call(func=ast.Attribute(attr=function)):
                operator = facts.operators.get(function)
                if operator is not None and operator.writes:
                    arguments = operator.arguments(node)
                    destination = arguments[operator.writes]
                    written.append((destination, function.startswith("atomic")))
                    if not operator.keeps(arguments):
                        skipped.add(id(destination))
    reads = [
        (node, False)
        for node in nodes
        if isinstance(node, (ast.Subscript, ast.Name)) and id(node) not in skipped
    ]
    for writes, parts in ((False, reads), (True, written)):
        for tree, is_atomic in parts:
            name = base_name(tree)
            storage = storage_of(name, facts)
            if name is not None and storage is not None:
                moved = extents if id(tree) in operands else None
                # Indices of tiles repeat from turn to turn, those of tensors need not.
                here = known if name in facts.tiles else replace(known, values={})
                spans = _spans(tree, moved, here, facts) if isinstance(tree, ast.Subscript) else ()
                yield Touch(storage, name, writes, spans, is_atomic)


def _spans(
    operand: ast.Subscript, extents: tuple[Extent, ...] | None, known: Known, facts: Facts
) -> Spans:
    indices = index_list(operand)
    is_tile = base_name(operand) in facts.tiles
    result: list[Span | None] = []
    for index, length in zip(indices, _lengths(indices, extents), strict=True):
        if isinstance(index, ast.Slice):
            start = span_of(index.lower or ast.Constant(0), known, facts)
            if is_tile and index.upper is not None and start is not None:
                stop = span_of(index.upper, known, facts)
                is_like = stop is not None and stop.base == start.base
                result.append(
                    Span(start.base, start.low, stop.high - 1) if stop and is_like else None
                )
                continue
        else:
            start = span_of(index, known, facts)
        if start is None or length is None:
            result.append(None)
        else:
            result.append(Span(start.base, start.low, start.high + length - 1))
    return tuple(result)


def _lengths(indices: list[ast.expr], extents: tuple[Extent, ...] | None) -> list[int | None]:
    """How many indices a region takes in each dimension, from where it starts."""
    is_slice = [isinstance(index, ast.Slice) for index in indices]
    if extents is None:
        return [None if sliced else 1 for sliced in is_slice]
    if any(is_slice):
        long = [extent.size or None for extent in extents if extent.size != 1]
        if len(long) != sum(is_slice):
            return [None if sliced else 1 for sliced in is_slice]
        rest = iter(long)
        return [next(rest) if sliced else 1 for sliced in is_slice]
    if any(extent.size == 0 for extent in extents):
        return [None] * len(indices)
    ones: list[int | None] = [1] * len(indices)
    return [*ones, *[extent.size for extent in extents]][-len(indices) :]


def span_of(tree: ast.expr, known: Known, facts: Facts) -> Span | None:
    """Where an index lies; None where it is no sum of what is known or fixed."""
    try:
        value = int(evaluate(substituted(tree, known.lets), known.values, facts))
        return Span(frozenset(), value, value + 1)
    except UnknownValueError:
        pass
    match tree:
        case ast.Name(id=name) if name in known.lets:
            return span_of(known.lets[name], known, facts)
        case ast.Name(id=name) if name in known.ranges:
            low, high = known.ranges[name].low, known.ranges[name].high
            if low is None or high is None or high < low:
                return None
            return Span(frozenset(), low, high + 1)
        case ast.Name(id=name) if name in known.fixed:
            return Span(frozenset({(name, 1)}), 0, 1)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            one, other = span_of(left, known, facts), span_of(right, known, facts)
            if one is None or other is None:
                return None
            return _plus(one, other if isinstance(op, ast.Add) else _scaled(other, -1))
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            for factor, part in ((left, right), (right, left)):
                number, span = span_of(factor, known, facts), span_of(part, known, facts)
                if number is None or span is None:
                    return None
                if not number.base and number.high == number.low + 1:
                    return _scaled(span, number.low)
    return None


def _plus(one: Span, other: Span) -> Span:
    return Span(_sum((*one.base, *other.base)), one.low + other.low, one.high + other.high - 1)


def _scaled(span: Span, by: int) -> Span:
    ends = sorted((span.low * by, (span.high - 1) * by))
    return Span(_sum((name, factor * by) for name, factor in span.base), ends[0], ends[1] + 1)


def _sum(terms: Iterable[tuple[str, int]]) -> frozenset[tuple[str, int]]:
    total: dict[str, int] = {}
    for name, factor in terms:
        total[name] = total.get(name, 0) + factor
    return frozenset((name, factor) for name, factor in total.items() if factor)
