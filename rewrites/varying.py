"""The names whose values differ between the threads of a program."""

import ast

from rewrites.facts import Facts
from rewrites.threads import Threads, is_of_threads
from rewrites.tree import base_name, blocks_of, names_in, operator_call, walk


def varying_names(body: list[ast.stmt], threads: Threads, facts: Facts) -> set[str]:
    """The lets, variables and arrays of single threads that depend on the number of the thread."""
    own = {name for name, _ in local_arrays(body)}
    found: set[str] = set(threads.lets)
    while True:
        before = len(found)
        _follow(body, threads, facts, own, found, False)
        if len(found) == before:
            return found


def local_arrays(body: list[ast.stmt]) -> list[tuple[str, ast.Call]]:
    """What T.alloc_local makes in these statements."""
    result = []
    for node in walk(ast.Module(body, [])):
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(func=ast.Attribute(attr="alloc_local")) as call,
            ):
                result.append((name, call))
    return result


def varies(tree: ast.AST, names: set[str]) -> bool:
    """Whether a value in the tree differs between threads."""
    return bool(names & names_in(tree)) or any(is_of_threads(node) for node in walk(tree))


def _follow(
    body: list[ast.stmt],
    threads: Threads,
    facts: Facts,
    own: set[str],
    found: set[str],
    is_under: bool,
) -> None:
    """Add what the statements make; `is_under` says that threads differ in whether they run."""
    for statement in body:
        match statement:
            case ast.Assign(targets=[target], value=value):
                _store(target, is_under or varies(value, found), facts, own, found)
            case ast.AugAssign(target=target, value=value):
                _store(target, is_under or varies(value, found), facts, own, found)
            case ast.For(target=target, iter=header):
                differs = is_under or varies(header, found)
                if differs:
                    found |= names_in(target)
                _follow(statement.body, threads, facts, own, found, differs)
            case ast.If(test=test):
                # A condition on the thread's number alone may be a role's: see `sequence_roles`.
                split = threads.split(test)
                rest = test if split is None else split[1]
                differs = is_under or (rest is not None and varies(rest, found))
                for block in blocks_of(statement):
                    _follow(block, threads, facts, own, found, differs)
            case ast.While(test=test):
                differs = is_under or varies(test, found)
                _follow(statement.body, threads, facts, own, found, differs)
            case ast.With():
                _follow(statement.body, threads, facts, own, found, is_under)
            case ast.Expr(value=ast.Call()):
                call = operator_call(statement, *facts.operators)
                if call is not None and isinstance(call.func, ast.Attribute):
                    operator = facts.operators[call.func.attr]
                    if operator.writes:
                        written = operator.arguments(call)[operator.writes]
                        differs = is_under or any(varies(part, found) for part in call.args)
                        _store(written, differs, facts, own, found)


def _store(target: ast.expr, differs: bool, facts: Facts, own: set[str], found: set[str]) -> None:
    """Memory that all threads share holds one value, whoever wrote it."""
    name = base_name(target)
    tile = facts.tiles.get(name or "")
    if not differs or name is None or name in facts.tensors:
        return
    if tile is None:
        found.add(name)
    elif tile.storage in own:
        # What is written by one name of a memory is read by all of them.
        found |= {one.name for one in facts.tiles.values() if one.storage == tile.storage}
