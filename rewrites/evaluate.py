"""Compute integer trees, and how they repeat while a loop variable counts up."""

import ast
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rewrites.facts import Facts
from rewrites.tree import names_in

BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Invert: operator.invert,
}


class UnknownValueError(Exception):
    """The tree holds what is known at run time only: `node`."""

    def __init__(self, node: ast.AST) -> None:
        super().__init__(ast.unparse(node))
        self.node = node


def evaluate(tree: ast.expr, names: Mapping[str, Any], facts: Facts) -> Any:
    """The value of an integer tree; raises `UnknownValueError` where a part of it is not known."""
    match tree:
        case ast.Constant(value=bool() | int() as value):
            return value
        case ast.Name(id=name):
            value = names.get(name, facts.constants.get(name))
            if value is None:
                raise UnknownValueError(tree)
            return value
        case ast.UnaryOp(op=op, operand=operand):
            return UNARY[type(op)](evaluate(operand, names, facts))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
            sides = evaluate(left, names, facts), evaluate(right, names, facts)
            return _applied(BINARY[type(op)], sides, tree)
        case ast.Compare(left=left, ops=[sign], comparators=[right]) if type(sign) in COMPARISONS:
            first, second = evaluate(left, names, facts), evaluate(right, names, facts)
            return COMPARISONS[type(sign)](first, second)
        case ast.BoolOp(op=ast.And(), values=values):
            return all(evaluate(value, names, facts) for value in values)
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(evaluate(value, names, facts) for value in values)
        case ast.Call(func=ast.Attribute(attr="if_then_else"), args=[test, yes, no]):
            return evaluate(yes if evaluate(test, names, facts) else no, names, facts)
        case ast.Call(func=ast.Attribute(attr=name), args=args, keywords=[]):
            fold = getattr(facts.operators.get(name), "fold", None)
            if fold is not None:
                return _applied(fold, tuple(evaluate(arg, names, facts) for arg in args), tree)
    raise UnknownValueError(tree)


def _applied(function: Callable[..., Any], values: tuple[Any, ...], tree: ast.expr) -> Any:
    try:
        return function(*values)
    except (ArithmeticError, ValueError):
        raise UnknownValueError(tree) from None


@dataclass(frozen=True)
class Cycle:
    """How a value f(i) repeats: f(i + period) = f(i) + drift for every i from `start` on."""

    period: int = 1
    drift: int = 0
    start: int = 0

    def stretched(self, period: int) -> "Cycle":
        """The same, told for a multiple of the period."""
        return Cycle(period, self.drift * (period // self.period), self.start)

    def wrapped(self, modulus: int) -> "Cycle":
        """The cycle after which the drift is a multiple of `modulus`."""
        if self.drift == 0:
            return self
        return self.stretched(self.period * (modulus // math.gcd(self.drift, modulus)))


def cycle_of(
    tree: ast.expr, variable: str, step: int, names: Mapping[str, Any], facts: Facts
) -> Cycle | None:
    """How the tree repeats while `variable`, whose first value is in `names`, counts by `step`.

    None where no rule says so. `k % 2`, `(k // 2) & 1` and `k == 0` are what barriers are used
    with; their cycles are found by the rules of arithmetic, not by trying.
    """
    if variable not in names_in(tree):
        return Cycle()

    def inner(part: ast.expr) -> Cycle | None:
        return cycle_of(part, variable, step, names, facts)

    def known(part: ast.expr) -> int | None:
        if variable in names_in(part):
            return None
        try:
            return int(evaluate(part, names, facts))
        except UnknownValueError:
            return None

    match tree:
        case ast.Name():
            return Cycle(1, step)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            pair = _common(inner(left), inner(right))
            if pair is None:
                return None
            sign = 1 if isinstance(op, ast.Add) else -1
            drift = pair[0].drift + sign * pair[1].drift
            return Cycle(pair[0].period, drift, pair[0].start)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            if variable in names_in(right):
                left, right = right, left
            factor, cycle = known(right), inner(left)
            if factor is None or cycle is None:
                return None
            return Cycle(cycle.period, cycle.drift * factor, cycle.start)
        case ast.BinOp(left=left, op=op, right=right) if known(right) is not None:
            cycle, number = inner(left), known(right)
            assert number is not None
            return None if cycle is None else _cut(cycle, op, number)
        case ast.BinOp(left=left, op=ast.BitAnd() | ast.BitOr() | ast.BitXor(), right=right):
            return _steady(inner(left), inner(right))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _steady(inner(operand))
        case ast.Compare(left=left, comparators=[right]):
            return _comparison(left, right, variable, step, names, facts)
        case (
            ast.BoolOp(values=values)
            | ast.Call(func=ast.Attribute(attr="if_then_else"), args=values)
        ):
            return _steady(*[inner(value) for value in values])
    return None


def _cut(cycle: Cycle, op: ast.operator, number: int) -> Cycle | None:
    """The cycle of `value op number` for division, remainder, shift and masks."""
    match op:
        case ast.FloorDiv() if number > 0:
            wrapped = cycle.wrapped(number)
            return Cycle(wrapped.period, wrapped.drift // number, wrapped.start)
        case ast.RShift() if number >= 0:
            return _cut(cycle, ast.FloorDiv(), 1 << number)
        case ast.Mod() if number > 0:
            wrapped = cycle.wrapped(number)
            return Cycle(wrapped.period, 0, wrapped.start)
        case ast.BitAnd() if number >= 0:
            return _cut(cycle, ast.Mod(), 1 << number.bit_length())
        case ast.BitXor() | ast.BitOr() if cycle.drift == 0:
            return cycle
    return None


def _common(*cycles: Cycle | None) -> tuple[Cycle, ...] | None:
    """The cycles, all told for one period and one start."""
    found = [cycle for cycle in cycles if cycle is not None]
    if len(found) < len(cycles):
        return None
    period = math.lcm(*(cycle.period for cycle in found))
    start = max(cycle.start for cycle in found)
    stretched = [cycle.stretched(period) for cycle in found]
    return tuple(Cycle(period, cycle.drift, start) for cycle in stretched)


def _steady(*cycles: Cycle | None) -> Cycle | None:
    """The cycle of any function of values that come back to where they were."""
    pair = _common(*cycles)
    if pair is None or any(cycle.drift for cycle in pair):
        return None
    return pair[0]


def _comparison(
    left: ast.expr,
    right: ast.expr,
    variable: str,
    step: int,
    names: Mapping[str, Any],
    facts: Facts,
) -> Cycle | None:
    """A comparison of values that drift apart does not change any more once they are apart."""
    difference = ast.BinOp(left, ast.Sub(), right)
    cycle = cycle_of(difference, variable, step, names, facts)
    if cycle is None or cycle.drift == 0:
        return cycle
    first = names[variable]
    try:
        values = [
            int(evaluate(difference, {**names, variable: first + step * turn}, facts))
            for turn in range(cycle.start, cycle.start + cycle.period)
        ]
    except UnknownValueError:
        return None
    periods = max(abs(value) for value in values) // abs(cycle.drift) + 2
    return Cycle(1, 0, cycle.start + cycle.period * periods).stretched(cycle.period)
