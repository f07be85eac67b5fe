"""Smaller places: the argument of a call or the use of a name in the statement that is executed."""

from __future__ import annotations

import ast

from tile2triton.frontend.positions import Position
from tile2triton.source import Source

_Span = tuple[str, int, int, int, int]
_nodes: dict[_Span, ast.AST] = {}


def remember(source: Source) -> None:
    """Make the nodes of a function known by their places."""
    for node in ast.walk(source.tree):
        if isinstance(node, (ast.stmt, ast.Call)):
            position = of_node(node, source.filename)
            if not isinstance(node, ast.Expr):
                _nodes[position] = node


def argument_positions(call: Position) -> dict[int | str, Position]:
    """Where the arguments of the call at a place stand, by number and by keyword."""
    node = _nodes.get(call)
    if not isinstance(node, ast.Call):
        return {}
    found: dict[int | str, Position] = {}
    for at, argument in enumerate(node.args):
        if isinstance(argument, ast.Starred):
            break
        found[at] = of_node(argument, call.filename)
    for keyword in node.keywords:
        if keyword.arg is not None:
            found[keyword.arg] = of_node(keyword.value, call.filename)
    return found


def name_position(statement: Position, name: str) -> Position:
    """Where a statement reads a name; the statement itself where that is not known."""
    node = _nodes.get(statement)
    for inner in ast.walk(node) if node is not None else ():
        if isinstance(inner, ast.Name) and inner.id == name and isinstance(inner.ctx, ast.Load):
            return of_node(inner, statement.filename)
    return statement


def of_node(node: ast.stmt | ast.expr, filename: str) -> Position:
    return Position(
        filename, node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0
    )
