"""Atomic updates of a tile that is larger than the target's shared memory, half by half.

Triton brings the lanes of a tile into the order that its addresses want, by way of as much shared
memory as the tile has bytes.
"""

import ast
import math
from collections.abc import Iterator
from dataclasses import replace

from rewrites.dtypes import bits
from rewrites.quote import expr, name, substituted
from rewrites.space import Axis, Space
from rewrites.values import Value

Half = tuple[Space, list[ast.expr], Value]


def halves(space: Space, indices: list[ast.expr], value: Value) -> Iterator[Half]:
    """Two halves along the last axis, or the one update that fits or cannot be cut."""
    size = math.prod(axis.length for axis in space.axes) * bits(value.dtype) // 8
    is_whole = len(value.axes) == space.rank and not (space.conditions or space.lets)
    if size <= space.facts.shared_memory or not is_whole:
        yield space, indices, value
        return
    *before, last = space.axes
    middle = last.length // 2
    length: ast.expr = expr("length // 2", length=last.length_tree)
    if last.length != last.extent:
        # How padding is written is no tree of the program's, so that its value stands here.
        length = ast.Constant(middle)
        _assert_padding(space, last)
    rest = expr("extent - middle", extent=last.tree, middle=length)
    lane = expr("middle + i", middle=length, i=name(last.variable))
    shifted = [substituted(index, {last.variable: lane}) for index in indices]
    half = replace(last, extent=middle, tree=length, length=middle, length_tree=length)
    left, right = _cut(space, value)
    if last.extent <= middle:
        first = replace(half, extent=last.extent, tree=last.tree)
        yield from halves(Space(space.lowering, (*before, first)), indices, left)
        return
    yield from halves(Space(space.lowering, (*before, half)), indices, left)
    second = replace(half, extent=last.extent - middle, tree=rest)
    yield from halves(Space(space.lowering, (*before, second)), shifted, right)


def _assert_padding(space: Space, axis: Axis) -> None:
    """The number of parts holds for what the padded length is."""
    middle = ast.Constant(axis.length // 2)
    sign = ">" if axis.extent > axis.length // 2 else "<="
    space.lowering.emit(
        f"tl.static_assert(extent {sign} middle)\ntl.static_assert(extent <= length)",
        extent=axis.tree,
        middle=middle,
        length=ast.Constant(axis.length),
    )


def _cut(space: Space, value: Value) -> tuple[Value, Value]:
    """The halves of a value along the last axis, which `tl.split` takes from pairs."""
    rank = space.rank
    *before, last = space.shape()
    shape = [*before, ast.Constant(2), expr("length // 2", length=last)]
    pairs = expr(
        "tl.permute(tl.reshape(x, shape), order)",
        x=value.tree,
        shape=ast.Tuple(shape, ast.Load()),
        order=ast.Tuple([ast.Constant(d) for d in (*range(rank - 1), rank, rank - 1)], ast.Load()),
    )
    left, right = (space.lowering.names.fresh(base) for base in ("left", "right"))
    space.lowering.emit("left, right = tl.split(pairs)", left=left, right=right, pairs=pairs)
    return replace(value, tree=name(left)), replace(value, tree=name(right))
