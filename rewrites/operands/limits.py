"""For which part of an axis a condition can hold, and for which it holds throughout a tile."""

import ast
from collections import Counter
from dataclasses import dataclass

from rewrites.operands.body import Body, Writer
from rewrites.operands.places import Plan
from rewrites.operands.terms import Axis, Size, Term
from rewrites.quote import expr, literal

_SIGNS = {"<": (1, 1), "<=": (1, 0), ">": (-1, 1), ">=": (-1, 0)}


@dataclass(frozen=True)
class Limit:
    """`axis <= bound` (or `>=` where it is no upper one), for the bounds of a whole tile."""

    is_upper: bool
    bound: "dict[Part, int]"
    plan: Plan
    body: Body
    writer: Writer

    def least(self, more: int = 0) -> ast.expr:
        """The least bound in a program's tile, and `more`."""
        return self._extreme(False, more)

    def greatest(self, more: int = 0) -> ast.expr:
        """The greatest bound in a program's tile, and `more`."""
        return self._extreme(True, more)

    def _extreme(self, is_greatest: bool, more: int) -> ast.expr:
        bound = {**self.bound, 1: self.bound.get(1, 0) + more}
        return _extreme(bound, is_greatest, self.plan, self.body, self.writer)


def limit_of(test: Term, axis: Axis, plan: Plan, body: Body, writer: Writer) -> Limit | None:
    """What a comparison of positions says of an axis, in each program; None: nothing simple."""
    found = bound_of(test, axis)
    if found is None:
        return None
    is_upper, bound = found
    for part in bound:
        if isinstance(part, Axis) and plan.places[part].role == "stream":
            return None
    return Limit(is_upper, bound, plan, body, writer)


def bound_of(test: Term, axis: Axis) -> "tuple[bool, dict[Part, int]] | None":
    """A comparison solved for an axis: whether it is at most a sum, or at least, and the sum."""
    if test.kind != "apply" or test.detail not in _SIGNS:
        return None
    sign, strict = _SIGNS[str(test.detail)]
    sides = [_linear(operand) for operand in test.operands]
    if sides[0] is None or sides[1] is None:
        return None
    # sign * (left - right) + strict <= 0, solved for the axis.
    total = Counter({part: sign * count for part, count in sides[0].items()})
    for part, count in sides[1].items():
        total[part] -= sign * count
    total[1] += strict
    own = total.pop(axis, 0)
    if own not in (1, -1):
        return None
    return own == 1, {part: -own * count for part, count in total.items() if count}


Part = Axis | Size | int


def _linear(term: Term) -> "Counter[Part] | None":
    """A term as a sum of axes, extents and 1s, each so many times."""
    if term.kind == "axis":
        assert isinstance(term.detail, Axis)
        return Counter({term.detail: 1})
    if term.kind == "size":
        assert isinstance(term.detail, Size)
        return Counter({term.detail: 1})
    if term.kind == "number" and isinstance(term.detail, int):
        return Counter({1: int(term.detail)})
    if term.kind == "apply" and term.detail in ("+", "-") and len(term.operands) == 2:
        left, right = (_linear(operand) for operand in term.operands)
        if left is None or right is None:
            return None
        for part, count in right.items():
            left[part] += count if term.detail == "+" else -count
        return left
    return None


def _extreme(
    rest: dict[Part, int], is_greatest: bool, plan: Plan, body: Body, writer: Writer
) -> ast.expr:
    """The least or greatest value of a sum in the tile of a program."""
    positive: list[ast.expr] = []
    negative: list[ast.expr] = []
    constant = rest.get(1, 0)
    for part, count in rest.items():
        if part == 1:
            continue
        if isinstance(part, Size):
            tree = part.tree
        else:
            assert isinstance(part, Axis)
            place = plan.places[part]
            tree = literal(0) if place.role == "whole" else body.start(part)
            if place.has_lanes and (count > 0) == is_greatest:
                block = writer.constant(place.block)
                last = expr("start + block", start=tree, block=block)
                tree = (
                    block
                    if place.role == "whole"
                    else expr("T.min(last, size)", last=last, size=part.size.tree)
                )
                constant -= count
        for _ in range(abs(count)):
            (positive if count > 0 else negative).append(tree)
    made: ast.expr | None = None
    for tree in positive:
        made = tree if made is None else expr("a + b", a=made, b=tree)
    if constant or made is None:
        number = literal(abs(constant))
        if made is None:
            made = literal(constant)
        else:
            made = expr("a + b" if constant > 0 else "a - b", a=made, b=number)
    for tree in negative:
        made = expr("a - b", a=made, b=tree)
    return made
