"""Keep of a block what some of its statements need."""

import ast

from rewrites.changes import changed_names
from rewrites.facts import Facts
from rewrites.nodes import Blank, Comment
from rewrites.tree import names_in, operator_call, walk


def used(body: list[ast.stmt], kept: int, facts: Facts) -> list[ast.stmt]:
    """The statements from number `kept` on, and of those before it what they need.

    What ends a program stays, what writes tensors only where they are read, and a comment where
    what it stands above does.
    """
    result = list(body[kept:])
    wanted = set().union(*(names_in(one) for one in result))
    follows = bool(result)
    for statement in reversed(body[:kept]):
        if isinstance(statement, Blank):
            result.insert(0, statement)
            continue
        if isinstance(statement, Comment):
            is_used = follows
        else:
            is_used = follows = _is_used(statement, wanted, facts)
        if is_used:
            result.insert(0, statement)
            wanted |= names_in(statement)
    return _without_gaps(result)


def _is_used(statement: ast.stmt, wanted: set[str], facts: Facts) -> bool:
    if any(isinstance(node, ast.Return) for node in walk(statement)):
        return True
    if operator_call(statement, "static_assert") is not None:
        return True
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=called)) as call):
            operator = facts.operators.get(called)
            if operator is not None and operator.kind == "hint":
                return names_in(call) & facts.tiles.keys() <= wanted
    return bool(changed_names(statement, facts) & wanted)


def _without_gaps(body: list[ast.stmt]) -> list[ast.stmt]:
    """No blank lines at the start, and no two in a row."""
    result: list[ast.stmt] = []
    for statement in body:
        is_second = not result or isinstance(result[-1], Blank)
        if not (isinstance(statement, Blank) and is_second):
            result.append(statement)
    return result
