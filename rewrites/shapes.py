"""Tensor shapes as plain arithmetic, which means the same in a kernel and in its launcher."""

import ast
from dataclasses import replace

from rewrites.facts import Facts
from rewrites.quote import copy_tree, expr


def plain_shapes(facts: Facts) -> None:
    """Write `T.ceildiv(a, b)` in shapes as `(a + b - 1) // b`, and its kind likewise."""
    facts.tensors = {
        name: replace(
            tensor,
            shape=tuple(plain_extent(extent) for extent in tensor.shape),
            strides=tuple(plain_extent(stride) for stride in tensor.strides),
        )
        for name, tensor in facts.tensors.items()
    }
    facts.tiles = {
        name: replace(tile, trees=tuple(plain_extent(tree) for tree in tile.trees))
        for name, tile in facts.tiles.items()
    }


def plain_extent(extent: ast.expr) -> ast.expr:
    """The extent without calls of `T`, but for the built-in `min` and `max`."""
    tree = _Plain().visit(copy_tree(extent))
    assert isinstance(tree, ast.expr)
    return tree


class _Plain(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Attribute(attr="ceildiv" | "cdiv"), args=[a, b]):
                return expr("(a + b - 1) // b", a=a, b=b)
            case ast.Call(func=ast.Attribute(attr="floordiv"), args=[a, b]):
                return expr("a // b", a=a, b=b)
            case ast.Call(func=ast.Attribute(attr="floormod"), args=[a, b]):
                return expr("a % b", a=a, b=b)
            case ast.Call(func=ast.Attribute(attr="min" | "max" as function), args=args):
                return ast.Call(expr(function), args, [])
        return node
