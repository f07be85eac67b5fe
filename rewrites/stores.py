"""Stores to tiles and tensors alike, and values over all axes of a space."""

import ast

from rewrites import tensors, tile_writes
from rewrites.quote import expr
from rewrites.space import Space
from rewrites.values import Value, full, stored


def store(space: Space, buffer: str, indices: list[ast.expr], value: Value, node: ast.AST) -> None:
    """`buffer[indices] = value`, wherever the buffer lives."""
    if buffer in space.facts.tiles:
        tile_writes.write(space, buffer, indices, value, node)
    else:
        tensors.write(space, buffer, indices, value, node)


def filled(space: Space, value: Value, dtype: str) -> ast.expr:
    """A value over all axes of the space, for a variable that each element has."""
    new = stored(value, dtype)
    if new.weak or not new.axes:
        return full(ast.Tuple(space.shape(), ast.Load()), new.tree, dtype)
    if len(new.axes) < space.rank:
        shape = ast.Tuple(space.shape(), ast.Load())
        return expr("tl.broadcast_to(tree, shape)", tree=new.tree, shape=shape)
    return new.tree
