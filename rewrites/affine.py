"""Indices that are sums: which multiple of each loop variable they hold, and what else."""

import ast
from collections.abc import Iterable
from dataclasses import dataclass

from rewrites.environment import Environment
from rewrites.tree import names_in

ZERO = ast.Constant(0)


@dataclass(frozen=True)
class Affine:
    """`factors[v] * v + … + rest`, where `rest` holds none of the variables."""

    factors: dict[str, int]
    rest: ast.expr


def affine(tree: ast.expr, variables: Iterable[str], environment: Environment) -> Affine | None:
    """The index as a sum, or None where it is none with known factors."""
    known = frozenset(variables)
    if not names_in(tree) & known:
        return Affine({}, tree)
    match tree:
        case ast.Name(id=identifier):
            return Affine({identifier: 1}, ZERO)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = affine(operand, known, environment)
            return None if inner is None else _scaled(inner, -1, ast.Constant(-1))
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            one, other = affine(left, known, environment), affine(right, known, environment)
            if one is None or other is None:
                return None
            sign = 1 if isinstance(op, ast.Add) else -1
            factors = {
                v: one.factors.get(v, 0) + sign * other.factors.get(v, 0)
                for v in (*one.factors, *other.factors)
            }
            factors = {v: factor for v, factor in factors.items() if factor}
            return Affine(factors, _sum(one.rest, op, other.rest))
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            for varying, factor in ((left, right), (right, left)):
                number = environment.range(factor)
                inner = affine(varying, known, environment)
                is_fixed = number.low is not None and number.low == number.high
                if inner is not None and is_fixed and not names_in(factor) & known:
                    assert number.low is not None
                    return _scaled(inner, number.low, factor)
    return None


def is_multiple(tree: ast.expr, of: int, environment: Environment) -> bool:
    """Whether a tree is provably a multiple of a number."""
    return environment.divisor(tree) % of == 0


def _sum(left: ast.expr, op: ast.operator, right: ast.expr) -> ast.expr:
    if isinstance(right, ast.Constant) and right.value == 0:
        return left
    if isinstance(left, ast.Constant) and left.value == 0 and isinstance(op, ast.Add):
        return right
    return ast.BinOp(left, op, right)


def _scaled(inner: Affine, by: int, factor: ast.expr) -> Affine:
    rest = inner.rest
    if not (isinstance(rest, ast.Constant) and rest.value == 0):
        rest = ast.BinOp(rest, ast.Mult(), factor)
    return Affine({v: by * f for v, f in inner.factors.items()}, rest)
