"""Atomic updates of single elements that several threads do, each of them.

A program of Triton does such an update once, and a program of TileLang once for each thread.
"""

import ast
from collections.abc import Iterator

from rewrites.errors import refuse
from rewrites.facts import Facts
from rewrites.tree import base_name, walk

# Atomics that do something else where they are done twice.
_REPEATED = ("atomic_add", "atomic_addx2", "atomic_addx4")


def refuse_repeated(statements: list[ast.stmt], threads: int, facts: Facts) -> None:
    """Refuse such updates in statements that so many threads run; iterations share theirs out."""
    if threads == 1:
        return
    for node in _repeated(statements):
        match node:
            case ast.Call(func=ast.Attribute(attr=function)) if function in _REPEATED:
                _refuse_element(node, threads, facts)


def _repeated(statements: list[ast.stmt]) -> Iterator[ast.AST]:
    """The nodes outside of T.Parallel."""
    for statement in statements:
        match statement:
            case ast.For(iter=ast.Call(func=ast.Attribute(attr="Parallel" | "parallel"))):
                continue
            case ast.For(iter=header, body=body) | ast.While(test=header, body=body):
                yield from walk(header)
                yield from _repeated(body)
            case ast.If(test=test, body=body, orelse=orelse):
                yield from walk(test)
                yield from _repeated([*body, *orelse])
            case _:
                yield from walk(statement)


def _refuse_element(call: ast.Call, threads: int, facts: Facts) -> None:
    destination = call.args[0]
    value = call.args[1] if len(call.args) > 1 else ast.Constant(0)
    is_tile = base_name(value) in facts.tiles and not _is_element(value)
    if _is_element(destination) and not is_tile:
        raise refuse(
            call,
            "T2T708",
            f"each of {threads} threads does `{ast.unparse(call)}`, but a program of "
            "Triton does it once",
            (),
            "let one thread do it: `if T.get_thread_binding() == 0:` above it",
        )


def _is_element(operand: ast.expr) -> bool:
    return isinstance(operand, ast.Subscript) and not any(
        isinstance(node, ast.Slice) for node in walk(operand)
    )
