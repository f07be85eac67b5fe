"""Where the launcher reads each run-time size."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from rewrites.affine import affine
from rewrites.environment import environment_of
from rewrites.facts import Equation, Facts
from rewrites.tree import names_in
from tile2triton.diagnostics import TileError, at_node
from tile2triton.frontend.builder import Builder


def read_dims(builder: Builder, tree: ast.FunctionDef) -> None:
    """Find an extent, a stride or a sum that gives each size. Raises `TileError` without one."""
    facts = builder.facts
    sizes = set(builder.dims.values())
    for name, axis, extent in _extents(facts):
        if isinstance(extent, ast.Name) and extent.id in sizes:
            facts.dims.setdefault(extent.id, (name, axis))
    for name in facts.parameters:
        tensor = facts.tensors.get(name)
        for axis, stride in enumerate(tensor.strides if tensor is not None else ()):
            is_read = isinstance(stride, ast.Name) and stride.id in sizes - facts.dims.keys()
            if is_read and isinstance(stride, ast.Name):
                facts.strides.setdefault(stride.id, (name, axis))
    unread = [one for one in builder.dims.values() if one not in {**facts.dims, **facts.strides}]
    while solved := [size for size in unread if _solve(size, facts)]:
        unread = [size for size in unread if size not in solved]
    for size in unread:
        raise TileError(
            at_node(
                tree,
                facts.filename,
                "T2T180",
                f"the size `{size}` cannot be read from any argument",
                hint="it must be an extent of a tensor that is passed in, by itself or in a sum, "
                f"such as `2 * {size} + 1`, whose other sizes are known",
            )
        )


def _solve(size: str, facts: Facts) -> bool:
    """Set down the first extent that is a multiple of the size and something known."""
    environment = environment_of(facts)
    known = {*facts.constants, *facts.dims, *facts.strides}
    for name, axis, extent in _extents(facts):
        if size in names_in(extent):
            found = affine(extent, {size}, environment)
            if found is not None and found.factors and names_in(found.rest) <= known:
                facts.dims[size] = (name, axis)
                facts.equations[size] = Equation(found.factors[size], found.rest)
                return True
    return False


def _extents(facts: Facts) -> Iterator[tuple[str, int, ast.expr]]:
    """The extents of the tensors that are passed in."""
    for name in facts.parameters:
        tensor = facts.tensors.get(name)
        for axis, extent in enumerate(tensor.shape if tensor is not None else ()):
            yield name, axis, extent
