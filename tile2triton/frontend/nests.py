"""Nests of loops: T.grid, T.parallel, and T.Parallel loops that stand in one another."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from rewrites.nodes import Blank, Comment
from tile2triton.frontend.failures import failure


class Grid:
    """A nest of serial loops from 0, the last of them the innermost: `for i, j in T.grid(m, n)`."""

    def __init__(self, *extents: Any) -> None:
        self.extents = extents
        if not extents:
            raise failure("T2T193", "T.grid has no extent", hint="write T.grid(m, n)")

    def __iter__(self) -> Iterator[Any]:
        raise failure(
            "T2T158",
            "Python cannot run T.grid here",
            hint="write it right after `in` of a `for` in the kernel or in a macro",
        )


def join_nest(outer: ast.For) -> None:
    """Make one loop of a T.Parallel loop that holds another, and lets before it, and no more."""
    *before, inner = [one for one in outer.body if not isinstance(one, (Comment, Blank))]
    if not _is_parallel(inner) or not all(_is_let(one) for one in before):
        return
    assert isinstance(inner, ast.For) and isinstance(inner.iter, ast.Call)
    assert isinstance(outer.iter, ast.Call)
    targets = [*_targets(outer), *_targets(inner)]
    outer.target = ast.copy_location(ast.Tuple(targets, ast.Store()), outer.target)
    outer.iter.args += inner.iter.args
    at = outer.body.index(inner)
    outer.body[at : at + 1] = inner.body


def _is_parallel(statement: ast.stmt) -> bool:
    match statement:
        case ast.For(iter=ast.Call(func=ast.Attribute(attr="Parallel"))):
            return True
    return False


def _is_let(statement: ast.stmt) -> bool:
    match statement:
        case ast.Assign(targets=[ast.Name()], value=value):
            calls = [node.func for node in ast.walk(value) if isinstance(node, ast.Call)]
            return not any(
                isinstance(function, ast.Attribute)
                and function.attr.startswith(("alloc", "atomic"))
                for function in calls
            )
    return False


def _targets(loop: ast.For) -> list[ast.expr]:
    return loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
