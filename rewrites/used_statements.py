"""Keep of a block what some of its statements need."""

import ast

from rewrites.changes import changed_names
from rewrites.facts import Facts
from rewrites.nodes import Blank, Comment
from rewrites.quote import copy_tree
from rewrites.role_places import storage_of
from rewrites.tree import names_in, operator_call, walk


def used(body: list[ast.stmt], kept: int, facts: Facts, stores: bool = False) -> list[ast.stmt]:
    """The statements from number `kept` on, and of those before it what they need.

    What ends a program stays, and a comment where what it stands above does. What writes tensors,
    or nothing that has a name, stays with `stores`.
    """
    result = list(body[kept:])
    wanted = set().union(*(names_in(one) for one in result))
    follows = bool(result)
    for statement in reversed(body[:kept]):
        if isinstance(statement, ast.If) and not stores and _ends(statement):
            statement = _only_ends(statement, wanted, facts)
        if isinstance(statement, Blank):
            result.insert(0, statement)
            continue
        if isinstance(statement, Comment):
            is_used = follows
        else:
            is_used = follows = _is_used(statement, wanted, stores, facts)
        if is_used:
            result.insert(0, statement)
            wanted |= names_in(statement)
    return _without_gaps(result)


def _ends(statement: ast.stmt) -> bool:
    return any(isinstance(node, ast.Return) for node in walk(statement))


def _only_ends(branch: ast.If, wanted: set[str], facts: Facts) -> ast.If:
    """A branch that ends a program, without what it stores before."""
    made = copy_tree(branch)
    for field in ("body", "orelse"):
        block = [one for one in getattr(made, field) if _is_used(one, wanted, False, facts)]
        setattr(made, field, block or ([ast.Pass()] if field == "body" else []))
    return made


def _is_used(statement: ast.stmt, wanted: set[str], stores: bool, facts: Facts) -> bool:
    if _ends(statement) or operator_call(statement, "static_assert") is not None:
        return True
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=called)) as call):
            operator = facts.operators.get(called)
            if operator is not None and operator.kind == "hint":
                return names_in(call) & facts.tiles.keys() <= wanted
            if operator is not None and not operator.writes:
                return stores
    changed = {storage_of(one, facts) or one for one in changed_names(statement, facts)}
    if stores and changed & {tensor.storage for tensor in facts.tensors.values()}:
        return True
    return bool(changed & {storage_of(one, facts) or one for one in wanted})


def _without_gaps(body: list[ast.stmt]) -> list[ast.stmt]:
    """No blank lines at the start, and no two in a row."""
    result: list[ast.stmt] = []
    for statement in body:
        is_second = not result or isinstance(result[-1], Blank)
        if not (isinstance(statement, Blank) and is_second):
            result.append(statement)
    return result
