"""Which names a block of the user's code assigns, reads, and reads before it assigns them."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def assigned_names(block: list[ast.stmt]) -> tuple[str, ...]:
    """The names that statements of the block assign, in order; functions inside have their own."""
    found: dict[str, None] = {}
    for statement in block:
        for name, is_store in _uses(statement):
            if is_store:
                found[name] = None
    return tuple(found)


def carried_names(block: list[ast.stmt]) -> tuple[str, ...]:
    """The names whose first use is a read and which are assigned later: a loop would carry them."""
    first: dict[str, bool] = {}
    stored: dict[str, None] = {}
    for statement in block:
        for name, is_store in _uses(statement):
            first.setdefault(name, is_store)
            if is_store:
                stored[name] = None
    return tuple(name for name in stored if not first[name])


def names_in(tree: ast.expr) -> tuple[str, ...]:
    """The names that an expression reads."""
    return tuple(dict.fromkeys(n.id for n in ast.walk(tree) if isinstance(n, ast.Name)))


def _uses(node: ast.AST) -> Iterator[tuple[str, bool]]:
    """Reads (False) and assignments (True) of names in the order in which Python does them."""
    match node:
        case ast.Name(id=name, ctx=context):
            yield name, not isinstance(context, ast.Load)
        case ast.Assign(targets=targets, value=value):
            yield from _uses(value)
            for target in targets:
                yield from _uses(target)
        case ast.AnnAssign(target=target, value=value):
            if value is not None:
                yield from _uses(value)
            yield from _uses(target)
        case ast.AugAssign(target=target, value=value):
            if isinstance(target, ast.Name):
                yield target.id, False
            yield from _uses(value)
            yield from _uses(target)
        case ast.For(target=target, iter=iterable, body=body, orelse=orelse):
            yield from _uses(iterable)
            yield from _uses(target)
            for statement in [*body, *orelse]:
                yield from _uses(statement)
        case ast.FunctionDef() | ast.ClassDef() | ast.Lambda():
            return
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            # The targets of a comprehension are its own.
            own = {
                n.id
                for part in node.generators
                for n in ast.walk(part.target)
                if isinstance(n, ast.Name)
            }
            for child in ast.iter_child_nodes(node):
                yield from ((name, False) for name, _ in _uses(child) if name not in own)
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _uses(child)
