"""How many elements a slice has, in the words of the user: of `k * n : (k + 1) * n`, `n`."""

from __future__ import annotations

import ast
from typing import Any

from rewrites.evaluate import BINARY
from tile2triton.frontend.named_numbers import with_tree
from tile2triton.frontend.statics import number_of
from tile2triton.frontend.trees import tree_of

# How often each product of atoms occurs in a sum, and the atoms by their text.
_Sum = dict[tuple[str, ...], int]


def length(start: Any, stop: Any) -> int | None:
    """`stop - start` where no run-time value matters; it keeps the names of its numbers."""
    if start is None or (isinstance(start, int) and start == 0):
        return stop if isinstance(stop, int) else None
    atoms: dict[str, ast.expr] = {}
    rest = _sum(_multiplied_out(tree_of(stop), atoms), _multiplied_out(tree_of(start), atoms), -1)
    total: Any = 0
    for product, count in rest.items():
        term: Any = count
        for text in product:
            number = _number(atoms[text])
            if number is None:
                return None
            factor = with_tree(number, atoms[text])
            term = factor if isinstance(term, int) and term == 1 else term * factor
        total = term if isinstance(total, int) and total == 0 else total + term
    return total  # type: ignore[no-any-return]


def _multiplied_out(tree: ast.expr, atoms: dict[str, ast.expr]) -> _Sum:
    match tree:
        case ast.Constant(value=int() as value):
            return {(): value} if value else {}
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            sign = 1 if isinstance(op, ast.Add) else -1
            return _sum(_multiplied_out(left, atoms), _multiplied_out(right, atoms), sign)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            product: _Sum = {}
            for one, count in _multiplied_out(left, atoms).items():
                for other, factor in _multiplied_out(right, atoms).items():
                    key = tuple(sorted(one + other))
                    product = _sum(product, {key: count * factor}, 1)
            return product
    text = ast.unparse(tree)
    atoms[text] = tree
    return {(text,): 1}


def _sum(left: _Sum, right: _Sum, sign: int) -> _Sum:
    keys = dict.fromkeys((*left, *right))
    total = {key: left.get(key, 0) + sign * right.get(key, 0) for key in keys}
    return {key: count for key, count in total.items() if count}


def _number(tree: ast.expr) -> int | None:
    """The whole number that a tree of named numbers is."""
    match tree:
        case ast.Constant(value=int() as value):
            return value
        case ast.Name():
            number = number_of(tree)
            return number if isinstance(number, int) else None
        case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
            a, b = _number(left), _number(right)
            if a is None or b is None or (b == 0 and isinstance(op, (ast.FloorDiv, ast.Mod))):
                return None
            value = BINARY[type(op)](a, b)
            return value if isinstance(value, int) else None
    return None
