"""Where the turns of a loop in which nothing is masked begin and end."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from rewrites.environment import Environment
from rewrites.masked_turns import Bound, Masks
from rewrites.quote import copy_tree, expr
from rewrites.ranges import Range, range_of
from rewrites.shapes import plain_extent
from rewrites.sums import Sum, number
from rewrites.tree import names_in


@dataclass(frozen=True)
class Bounds:
    """The turns from `first` up to `end`, within those of the loop; None for the loop's own."""

    first: ast.expr | None = None
    end: ast.expr | None = None
    # A condition on constants under which masks hide nothing in any turn, where it holds.
    everything: ast.expr | None = None
    # Whether there is no such turn.
    nothing: bool = False


def bounds_of(
    masks: Masks, start: ast.expr, stop: ast.expr, outer: Mapping[str, ast.expr]
) -> Bounds:
    """The turns in which all bounds of masks hold, clamped to those of the loop.

    `outer` are the values of names that are bound in front of the loop.
    """
    written = _Written(masks, start, stop, outer)
    known, constants = masks.environment, masks.facts.constants.keys()
    firsts = [one for one in masks.bounds if not one.ends]
    ends = [one for one in masks.bounds if one.ends]
    trees = [written.bound(one) for one in ends]
    is_static = all(names_in(one) - {"T"} <= constants for one in (*trees, stop))
    if not firsts and is_static and all(_at_least(end, stop, known) for end in trees):
        return Bounds(everything=written.everything(trees))
    if any(_at_least(start, end, known) for end in trees):
        return Bounds(nothing=True)
    if any(_at_least(written.bound(one), stop, known) for one in firsts):
        return Bounds(nothing=True)
    return Bounds(written.clamped("max", firsts), written.clamped("min", ends))


@dataclass
class _Written:
    """Bounds as trees, which stand in front of the loop."""

    masks: Masks
    start: ast.expr
    stop: ast.expr
    outer: Mapping[str, ast.expr]

    def bound(self, bound: Bound) -> ast.expr:
        """The first turn behind those in which a condition holds, or the first of these.

        Quotients of numbers below 0 are not needed where a loop starts with 0 or above.
        """
        above, by = self.tree(bound.above), self.tree(bound.by)
        if bound.by == number(1):
            return above
        known = self.masks.environment
        if not known.range(above).is_natural and known.range(self.start).is_natural:
            above = expr("T.max(above, 0)", above=above)
        if bound.ends:
            return expr("above // by", above=above, by=by)
        return expr("T.ceildiv(above, by)", above=above, by=by)

    def clamped(self, function: str, found: list[Bound]) -> ast.expr | None:
        """All bounds together, within the turns of the loop."""
        if not found:
            return None
        made = _joined(function, [self.bound(one) for one in found])
        known = self.masks.environment
        if not _at_least(made, self.start, known):
            made = expr("T.max(made, start)", made=made, start=copy_tree(self.start))
        if not all(one.ends and self._is_within(one, self.stop) for one in found):
            made = expr("T.min(made, stop)", made=made, stop=copy_tree(self.stop))
        return made

    def _is_within(self, end: Bound, stop: ast.expr) -> bool:
        """Whether an end is not behind the loop's, also where the constants have other values."""
        match stop:
            case ast.Name(id=one) if one in self.outer:
                return self._is_within(end, self.outer[one])
            case ast.Call(func=ast.Attribute(attr="min"), args=args):
                return all(self._is_within(end, one) for one in args)
            case ast.Call(func=ast.Attribute(attr="ceildiv"), args=[whole, part]):
                reader = self.masks.reader
                return reader.read(part) == end.by and self._reaches_up_to(end, whole)
        return False

    def _reaches_up_to(self, end: Bound, whole: ast.expr) -> bool:
        match whole:
            case ast.Name(id=one) if one in self.outer:
                return self._reaches_up_to(end, self.outer[one])
            case ast.Call(func=ast.Attribute(attr="min"), args=args):
                return all(self._reaches_up_to(end, one) for one in args)
        total = self.masks.reader.read(whole)
        if total is None:
            return False
        spare = self.tree(total + end.by - number(1) - end.above)
        positive = {
            one: Range(min(value, 1), None)
            for one, value in self.masks.facts.constants.items()
            if isinstance(value, int)
        }
        return range_of(spare, {**self.masks.environment.ranges, **positive}).is_natural

    def tree(self, of: Sum) -> ast.expr:
        return self.masks.reader.tree(of, self.masks.facts.constants.keys())

    def everything(self, ends: list[ast.expr]) -> ast.expr:
        """The condition under which no end is before the loop's."""
        conditions = dict.fromkeys(ast.unparse(self._reaches(end)) for end in ends)
        return expr(" and ".join(conditions))

    def _reaches(self, end: ast.expr) -> ast.expr:
        match end, self.stop:
            case (
                ast.BinOp(left=above, op=ast.FloorDiv(), right=by),
                ast.Call(func=ast.Attribute(attr="ceildiv"), args=[whole, part]),
            ) if ast.dump(above) == ast.dump(whole) and ast.dump(by) == ast.dump(part):
                return expr("n % by == 0", n=copy_tree(above), by=copy_tree(by))
        return expr("end >= stop", end=plain_extent(end), stop=plain_extent(self.stop))


def _joined(function: str, trees: list[ast.expr]) -> ast.expr:
    made = trees[0]
    for tree in trees[1:]:
        made = expr(f"T.{function}(a, b)", a=made, b=tree)
    return made


def _at_least(one: ast.expr, other: ast.expr, known: Environment) -> bool:
    low, high = known.range(one).low, known.range(other).high
    return low is not None and high is not None and low >= high
