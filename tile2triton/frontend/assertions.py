"""What a kernel asserts of its named constants, so that an edit of one is never silently wrong."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import cast

from rewrites.quote import copy_tree, expr, literal, place, stmts
from tile2triton.frontend.builder import Builder
from tile2triton.frontend.statics import number_of


def assertions(builder: Builder) -> list[ast.stmt]:
    """`T.static_assert(condition)` for each decision from constants that the program has."""
    conditions: dict[str, ast.expr] = {}
    for decided in builder.decided:
        for condition in _over_constants(decided, builder):
            conditions.setdefault(ast.dump(condition), condition)
    fixed = {name for one in conditions.values() if (name := _fixed(one))}
    return [
        _statement(one)
        for one in conditions.values()
        if _fixed(one) or not _constants(one, builder) <= fixed
    ]


def _over_constants(decided: ast.expr, builder: Builder) -> Iterator[ast.expr]:
    """The condition in the program's names, or each name's value where Triton cannot compute it."""
    known = _InNumbers(builder).visit(copy_tree(decided))
    condition = cast(ast.expr, builder.settle(known, decided))
    if _is_computed(condition):
        if _constants(condition, builder):
            yield condition
        return
    for name in sorted(_constants(condition, builder)):
        value = literal(builder.facts.constants[name])
        made = ast.Compare(ast.Name(name, ast.Load()), [ast.Eq()], [value])
        yield cast(ast.expr, builder.settle(made, condition))


class _InNumbers(ast.NodeTransformer):
    """A number that the program has no name for cannot be edited: its value takes its place."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder

    def visit_Name(self, node: ast.Name) -> ast.expr:
        number = number_of(node)
        if number is None or self.builder.names.known_constant(node.id, number):
            return node
        return literal(number)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Attribute(attr="ceildiv" | "cdiv"), args=[number, divisor]):
                # Triton 3.6.0 evaluates tl.cdiv at run time, even of constants.
                return expr("(n + d - 1) // d", n=number, d=divisor)
        return node


def _constants(condition: ast.expr, builder: Builder) -> set[str]:
    names = {node.id for node in ast.walk(condition) if isinstance(node, ast.Name)}
    return names & builder.facts.constants.keys()


def _is_computed(condition: ast.expr) -> bool:
    """Whether Triton knows the condition while it compiles: calls are evaluated at run time."""
    return not any(isinstance(node, ast.Call) for node in ast.walk(condition))


def _fixed(condition: ast.expr) -> str | None:
    """The constant that the condition gives one value."""
    match condition:
        case ast.Compare(left=ast.Name(id=name), ops=[ast.Eq()], comparators=[ast.Constant()]):
            return name
    return None


def _statement(condition: ast.expr) -> ast.stmt:
    (statement,) = stmts("T.static_assert(condition)", condition=condition)
    return place(statement, condition)
