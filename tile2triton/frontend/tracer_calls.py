"""How instrumented code calls the tracer."""

from __future__ import annotations

import ast
from typing import TypeVar, cast

TRACER = "_t2t_"
_Node = TypeVar("_Node", bound=ast.AST)


def at(old: ast.AST, new: _Node) -> _Node:
    """Place a made node, and those in it that have no place, where the user's node stands."""
    for node in ast.walk(new):
        if "lineno" in node._attributes and getattr(node, "lineno", None) is None:
            ast.copy_location(node, old)
    return new


def call(method: str, *arguments: ast.expr) -> ast.Call:
    function = ast.Attribute(ast.Name(TRACER, ast.Load()), method, ast.Load())
    return ast.Call(function, list(arguments), [])


def constant(value: tuple[str | None, ...]) -> ast.Constant:
    """A tuple as one constant: the compiler takes it, only the type of the tree does not say so."""
    return ast.Constant(cast(str, value))


def lazy(value: ast.expr) -> ast.Lambda:
    return at(value, ast.Lambda(ast.arguments([], [], None, [], [], None, []), value))
