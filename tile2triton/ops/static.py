"""Trees of numbers: what is known when the kernel is compiled, and by how much two trees differ."""

import ast
import operator
from collections.abc import Callable
from typing import Any, cast

from rewrites.evaluate import BINARY, COMPARISONS, UNARY
from rewrites.facts import Facts, Number
from tile2triton.ops.base import Operator

Polynomial = dict[tuple[str, ...], int]

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    **BINARY,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


def static_value(tree: ast.expr | None, facts: Facts) -> Number | None:
    """The number that a tree over `facts.constants` is, or None where it is not known."""
    match tree:
        case ast.Constant(value=bool() | int() | float() as value):
            return value
        case ast.Name(id=name):
            return facts.constants.get(name)
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str(text))]):
            return float(text)
        case ast.UnaryOp(op=op, operand=operand):
            return _applied(UNARY[type(op)], [operand], facts)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _applied(_BINARY[type(op)], [left, right], facts)
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARISONS:
            return _applied(COMPARISONS[type(op)], [left, right], facts)
        case ast.Call(func=ast.Attribute(attr=name), args=arguments, keywords=[]):
            row = cast("Operator | None", facts.operators.get(name))
            if row is not None and row.fold is not None:
                return _applied(row.fold, arguments, facts)
    return None


def _applied(function: Callable[..., Any], trees: list[ast.expr], facts: Facts) -> Number | None:
    values = [static_value(tree, facts) for tree in trees]
    if any(value is None for value in values):
        return None
    try:
        return cast(Number, function(*values))
    except (ArithmeticError, ValueError, TypeError):
        return None


def difference(left: ast.expr, right: ast.expr, facts: Facts) -> int | None:
    """`left - right` where it is the same number whatever the run-time values are."""
    rest = _sum(_polynomial(left, facts), _polynomial(right, facts), -1)
    if set(rest) <= {()}:
        return rest.get((), 0)
    return None


def _polynomial(tree: ast.expr, facts: Facts) -> Polynomial:
    """The tree multiplied out: how often each product of its atoms occurs."""
    value = static_value(tree, facts)
    if isinstance(value, int):
        return {(): value} if value else {}
    match tree:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _sum(_polynomial(left, facts), _polynomial(right, facts), 1)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return _sum(_polynomial(left, facts), _polynomial(right, facts), -1)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _sum({}, _polynomial(operand, facts), -1)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            product: Polynomial = {}
            for atoms, count in _polynomial(left, facts).items():
                for others, factor in _polynomial(right, facts).items():
                    key = tuple(sorted(atoms + others))
                    product = _sum(product, {key: count * factor}, 1)
            return product
    return {(ast.unparse(tree),): 1}


def _sum(left: Polynomial, right: Polynomial, sign: int) -> Polynomial:
    keys = dict.fromkeys((*left, *right))
    total = {key: left.get(key, 0) + sign * right.get(key, 0) for key in keys}
    return {key: count for key, count in total.items() if count}
