"""The tile program of one on whole operands as a module, as an author would write it."""

from __future__ import annotations

import ast

from rewrites.facts import Facts
from rewrites.quote import stmts
from rewrites.tree import function_of
from tile2triton.printer import to_source


def tile_module(tree: ast.Module, facts: Facts) -> str:
    """The text of the module: T, the extents that are read at the launch, and the T.prim_func."""
    (header,) = stmts("import tile2triton.language as T")
    extents = [stmts(f'{name} = T.dynamic("{name}")')[0] for name in facts.dims]
    function_of(tree).decorator_list.append(ast.Attribute(ast.Name("T"), "prim_func"))
    made = ast.Module([*extents, *tree.body], [])
    return f"{to_source(ast.Module([header], []))}\n{to_source(ast.fix_missing_locations(made))}"
