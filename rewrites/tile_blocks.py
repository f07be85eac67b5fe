"""Parts of tiles that start at a multiple of their own length: found by reshaping, not gathered."""

import ast
from typing import TYPE_CHECKING

from rewrites.affine import affine, is_multiple
from rewrites.quote import expr
from rewrites.tree import names_in
from rewrites.values import summable, summed

if TYPE_CHECKING:
    from rewrites.space import Axis, Space


def block_number(space: "Space", index: ast.expr, axis: "Axis", length: int) -> ast.expr | None:
    """Which part of a dimension `start + i` runs over, or None where it is none of equal parts."""
    if axis.length >= length or length % axis.length:
        return None
    found = affine(index, [axis.variable], space.environment)
    if found is None or found.factors != {axis.variable: 1} or space.axes_of(found.rest):
        return None
    if not is_multiple(found.rest, axis.length, space.environment):
        return None
    if isinstance(found.rest, ast.Constant) and isinstance(found.rest.value, int):
        return ast.Constant(found.rest.value // axis.length)
    start = space.value(found.rest).tree
    if names_in(found.rest) <= space.facts.constants.keys():
        # The sizes may be edited in the emitted file.
        space.lowering.emit(
            "tl.static_assert(start % length == 0)", start=start, length=axis.length_tree
        )
    return expr("start // length", start=start, length=axis.length_tree)


def picked_block(
    tree: ast.expr,
    shape: list[ast.expr],
    dimension: int,
    parts: int,
    axis: "Axis",
    number: ast.expr,
    dtype: str,
) -> ast.expr:
    """One of `parts` equal parts of a dimension; `shape` is that of `tree`."""
    boxes = [*shape[:dimension], ast.Constant(parts), axis.length_tree, *shape[dimension + 1 :]]
    lanes = expr("tl.arange(0, parts)", parts=ast.Constant(parts))
    places: list[ast.expr] = [
        ast.Slice() if d == dimension else ast.Constant(None) for d in range(len(boxes))
    ]
    picked = expr(
        "tl.sum(tl.where(lanes == number, tl.reshape(x, boxes), 0), axis)",
        lanes=ast.Subscript(lanes, ast.Tuple(places, ast.Load()), ast.Load()),
        number=number,
        x=summable(tree, dtype),
        boxes=ast.Tuple(boxes, ast.Load()),
        axis=ast.Constant(dimension),
    )
    return summed(picked, dtype).tree


def repeated_block(
    tree: ast.expr, shape: list[ast.expr], dimension: int, parts: int, length: ast.expr
) -> ast.expr:
    """A value of one part's length, in every part of a dimension; `shape` is that of `tree`."""
    boxes = [*shape[:dimension], ast.Constant(parts), *shape[dimension:]]
    whole = [*shape[:dimension], length, *shape[dimension + 1 :]]
    return expr(
        "tl.reshape(tl.broadcast_to(tl.expand_dims(x, axis), boxes), whole)",
        x=tree,
        axis=ast.Constant(dimension),
        boxes=ast.Tuple(boxes, ast.Load()),
        whole=ast.Tuple(whole, ast.Load()),
    )
