"""Fill the arrays of single threads element by element, since each lane of a loop has its own.

`T.clear(mine)` and `T.fill(mine, x)` act on whole tiles; an array from T.alloc_local that differs
between threads is none.
"""

import ast

from rewrites.environment import Names
from rewrites.facts import Facts
from rewrites.nodes import Blank, Comment
from rewrites.quote import copy_tree, place, stmts
from rewrites.tree import blocks_of, operator_call


def by_element(
    body: list[ast.stmt], arrays: set[str], names: Names, facts: Facts
) -> list[ast.stmt]:
    """The statements, with stores to elements for each fill of one of the arrays."""
    result: list[ast.stmt] = []
    for statement in body:
        if isinstance(statement, (Comment, Blank)):
            result.append(statement)
            continue
        for block in blocks_of(statement):
            block[:] = by_element(block, arrays, names, facts)
        result.append(_stored(statement, arrays, names, facts))
    return result


def _stored(statement: ast.stmt, arrays: set[str], names: Names, facts: Facts) -> ast.stmt:
    call = operator_call(statement, "clear", "fill")
    match call:
        case ast.Call(args=[ast.Name(id=name), *rest]) if name in arrays:
            value = rest[0] if rest else ast.Constant(0)
        case _:
            return statement
    tile = facts.tiles[name]
    counters = [names.fresh("i") if extent > 1 else None for extent in tile.shape]
    index: list[ast.expr] = [
        ast.Constant(0) if counter is None else ast.Name(counter, ast.Load())
        for counter in counters
    ]
    at = index[0] if len(index) == 1 else ast.Tuple(index, ast.Load())
    (made,) = stmts("array[at] = value", array=name, at=at, value=value)
    for counter, extent in reversed(list(zip(counters, tile.trees, strict=True))):
        if counter is not None:
            (loop,) = stmts(
                "for counter in T.serial(extent):\n    pass",
                counter=counter,
                extent=copy_tree(extent),
            )
            assert isinstance(loop, ast.For)
            loop.body = [made]
            made = loop
    return place(made, statement)
