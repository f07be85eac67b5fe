"""Elements of on-chip tiles at the points of a space: reads, and how their dimensions lie."""

import ast
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rewrites.environment import lengths, padded
from rewrites.facts import Tile
from rewrites.quote import expr, name
from rewrites.tile_blocks import block_number, picked_block
from rewrites.tile_reshapes import rearranged
from rewrites.tile_views import assert_numbers
from rewrites.values import Value, collapsed, summable, summed

if TYPE_CHECKING:
    from rewrites.space import Space


# Up to so many elements, positions along a dimension are picked by comparing with all of them.
SMALL_GATHER = 2**15


@dataclass(frozen=True)
class Length:
    """The length of a dimension in Triton, as a number and as a tree."""

    extent: int
    tree: ast.expr


@dataclass(frozen=True)
class Place:
    """What an index does to one dimension of a tile.

    `axis` is the position of the axis that runs along it; `index` is the value where it is not
    the bare loop variable all along it; a dimension of extent 1 has neither.
    """

    axis: int | None = None
    index: ast.expr | None = None
    # Of a dimension that is several times as long as the axis: which part of it is meant.
    block: ast.expr | None = None


def read(space: "Space", buffer: str, indices: list[ast.expr], node: ast.expr) -> Value:
    """`buffer[indices]` for every point of the space."""
    tile = space.facts.tiles[buffer]
    if tile.is_scalar:
        return Value(name(buffer), tile.dtype)
    indices = space.spelled_out(indices)
    places = classify(space, tile, indices)
    tree: ast.expr = name(buffer)
    moving = [p for p in places if p.block is None and _varies(space, p)]
    if moving:
        found = rearranged(space, tile, tree, indices)
        if found is not None:
            return found
    if any(place.axis is None for place in moving) and tile.rank > 1:
        return _gather_anywhere(space, tile, tree, indices)
    gathers: list[int] = []
    shape = lengths_of(tile)
    for dimension, place in enumerate(places):
        if place.index is None:
            continue
        if not _varies(space, place):
            tree = _pick(space, tile, tree, dimension, place.index)
            shape[dimension] = Length(1, ast.Constant(1))
        elif place.block is not None and place.axis is not None:
            axis = space.axes[place.axis]
            trees = [length.tree for length in shape]
            parts = shape[dimension].extent // axis.length
            tree = picked_block(tree, trees, dimension, parts, axis, place.block, tile.dtype)
            shape[dimension] = Length(axis.length, axis.length_tree)
        else:
            gathers.append(dimension)
    if gathers:
        return _gather(space, tile, tree, places, gathers, shape)
    order = [place.axis for place in places]
    axes = frozenset(axis for axis in order if axis is not None)
    return Value(to_space(space, tile, tree, order), tile.dtype, axes)


def classify(space: "Space", tile: Tile, indices: list[ast.expr]) -> list[Place]:
    """What each index does; an axis runs along a dimension at most once."""
    places: list[Place] = []
    taken: set[int] = set()
    for extent, length, index in zip(tile.shape, lengths(tile), indices, strict=True):
        axis = space.position.get(index.id) if isinstance(index, ast.Name) else None
        if axis is not None and axis not in taken and space.axes[axis].length == length:
            taken.add(axis)
            places.append(Place(axis=axis))
            continue
        varying = space.axes_of(index)
        if extent == 1 and not varying:
            places.append(Place())
        elif len(varying) == 1 and not (varying & taken):
            (only,) = varying
            taken.add(only)
            block = block_number(space, index, space.axes[only], length)
            places.append(Place(axis=only, index=index, block=block))
        else:
            places.append(Place(index=index))
    return places


def to_space(space: "Space", tile: Tile, tree: ast.expr, order: list[int | None]) -> ast.expr:
    """A tensor in the tile's order of dimensions, as one in the space's order of axes."""
    present = [axis for axis in order if axis is not None]
    if not present:
        return collapsed(tree, tile.dtype) if order else tree
    units = len(order) - len(present)
    aligned = len(order) == space.rank and all(
        axis in (None, position) for position, axis in enumerate(order)
    )
    if aligned and present == sorted(present):
        return tree
    if units:
        kept = [space.axes[axis].length_tree for axis in order if axis is not None]
        tree = expr("tl.reshape(tree, shape)", tree=tree, shape=ast.Tuple(kept, ast.Load()))
    tree = _permute(tree, [present.index(axis) for axis in sorted(present)])
    if len(present) == space.rank:
        return tree
    parts: list[ast.expr] = [
        ast.Slice() if position in present else ast.Constant(None) for position in range(space.rank)
    ]
    return ast.Subscript(tree, ast.Tuple(parts, ast.Load()), ast.Load())


def from_space(
    space: "Space", tile: Tile, value: Value, order: list[int | None]
) -> tuple[ast.expr, frozenset[int]]:
    """A value over the space in the tile's order, and which dimensions it varies over."""
    covered = frozenset(d for d, axis in enumerate(order) if axis in value.axes)
    if not value.axes:
        return value.tree, covered
    aligned = len(order) == space.rank and all(
        axis in (None, position) for position, axis in enumerate(order)
    )
    if aligned:
        return value.tree, covered
    mapped = sorted(axis for axis in order if axis is not None)
    tree = value.tree
    if len(mapped) < space.rank:
        shape = [
            space.axes[axis].length_tree if axis in value.axes else ast.Constant(1)
            for axis in mapped
        ]
        tree = expr("tl.reshape(tree, shape)", tree=tree, shape=ast.Tuple(shape, ast.Load()))
    present = [axis for axis in order if axis is not None]
    tree = _permute(tree, [mapped.index(axis) for axis in present])
    if len(present) < len(order):
        parts: list[ast.expr] = [
            ast.Constant(None) if axis is None else ast.Slice() for axis in order
        ]
        tree = ast.Subscript(tree, ast.Tuple(parts, ast.Load()), ast.Load())
    return tree, covered


def lanes(space: "Space", tile: Tile, dimension: int) -> ast.expr:
    """The indices along a dimension of the tile, in the tile's rank."""
    extent, tree = tile.shape[dimension], tile.trees[dimension]
    return space.lowering.lanes(extent, tree, dimension, tile.rank)


def _varies(space: "Space", place: Place) -> bool:
    return place.index is not None and bool(space.axes_of(place.index))


def _pick(space: "Space", tile: Tile, tree: ast.expr, dimension: int, index: ast.expr) -> ast.expr:
    """One position along a dimension, which keeps extent 1."""
    value = space.value(index)
    chosen = expr(
        "tl.sum(tl.where(lanes == index, tree, 0), axis, keep_dims=True)",
        lanes=lanes(space, tile, dimension),
        index=value.tree,
        tree=summable(tree, tile.dtype),
        axis=ast.Constant(dimension),
    )
    return summed(chosen, tile.dtype).tree


def _gather(
    space: "Space",
    tile: Tile,
    tree: ast.expr,
    places: list[Place],
    dimensions: list[int],
    shape: list[Length],
) -> Value:
    """Positions that are computed per lane, along one dimension after the other."""
    if tile.rank == 1:
        index = places[0].index
        assert index is not None
        return _gather_flat(space, tile, tree, _clamped(space, tile, index, 0))
    order = [place.axis for place in places]
    for dimension in dimensions:
        axis = order[dimension]
        assert axis is not None
        source = shape[dimension]
        shape[dimension] = Length(space.axes[axis].length, space.axes[axis].length_tree)
        index = places[dimension].index
        assert index is not None
        laid, _ = from_space(space, tile, _clamped(space, tile, index, dimension), order)
        tree = gathered(tree, laid, shape, source, dimension, tile.dtype)
    axes = frozenset(axis for axis in order if axis is not None)
    return Value(to_space(space, tile, tree, order), tile.dtype, axes)


def gathered(
    tree: ast.expr,
    laid: ast.expr,
    shape: list["Length"],
    source: "Length",
    dimension: int,
    dtype: str,
) -> ast.expr:
    """`tree` at the positions `laid` along a dimension; the result has `shape`.

    Small matrices are picked element by element, since `tl.gather` of Triton 3.6 stops with an
    assertion where a matrix is smaller than a warp.
    """
    elements = source.extent * math.prod(length.extent for length in shape)
    if len(shape) == 2 and elements <= SMALL_GATHER:
        inner = "tree[None, :, :]" if dimension == 0 else "tree[:, :, None]"
        picked = expr(
            "tl.sum(tl.where(laid[:, None, :] == tl.arange(0, n)[None, :, None], x, 0), 1)",
            laid=laid,
            n=source.tree,
            x=expr(inner, tree=summable(tree, dtype)),
        )
        return summed(picked, dtype).tree
    indices = laid
    if len(shape) > 1:
        extents = ast.Tuple([length.tree for length in shape], ast.Load())
        indices = expr("tl.broadcast_to(laid, shape)", laid=laid, shape=extents)
    return expr(
        "tl.gather(tree, indices, axis)",
        tree=tree,
        indices=indices,
        axis=ast.Constant(dimension),
    )


def lengths_of(tile: Tile) -> list["Length"]:
    """The padded extents of a tile, as numbers and as the kernel writes them."""
    trees = (padded(extent, tree) for extent, tree in zip(tile.shape, tile.trees, strict=True))
    return [Length(extent, tree) for extent, tree in zip(lengths(tile), trees, strict=True)]


def _gather_anywhere(space: "Space", tile: Tile, tree: ast.expr, indices: list[ast.expr]) -> Value:
    """Any element for any point: the tile as one row, read at computed positions."""
    total: ast.expr | None = None
    axes = frozenset[int]()
    for dimension in range(tile.rank):
        value = _clamped(space, tile, indices[dimension], dimension)
        axes |= value.axes
        part = value.tree
        stride = math.prod(lengths(tile)[dimension + 1 :])
        if stride > 1:
            part = expr("part * stride", part=part, stride=ast.Constant(stride))
        total = part if total is None else expr("total + part", total=total, part=part)
    assert total is not None
    assert_numbers(space.lowering, tile)
    position = Value(space.lowering.assign("position", total), "int32", axes)
    return _gather_flat(space, tile, expr("tl.ravel(tree)", tree=tree), position)


def _clamped(space: "Space", tile: Tile, index: ast.expr, dimension: int) -> Value:
    """A computed index; surplus lanes, and what is not proved in range, stay inside the tile."""
    value = space.value(index)
    last = tile.shape[dimension] - 1
    is_inside = space.environment.range(index).within(0, last)
    if is_inside and all(space.axes[a].length == space.axes[a].extent for a in value.axes):
        return value
    clamped = expr("tl.minimum(tl.maximum(i, 0), n)", i=value.tree, n=ast.Constant(last))
    return Value(clamped, value.dtype, value.axes)


def _gather_flat(space: "Space", tile: Tile, tree: ast.expr, value: Value) -> Value:
    """A one-dimensional tile read at indices of any rank."""
    if space.rank <= 1:
        picked = expr("tl.gather(tree, index, 0)", tree=tree, index=value.tree)
        return Value(picked, tile.dtype, value.axes)
    shape = ast.Tuple(space.shape(value.axes), ast.Load())
    picked = expr(
        "tl.gather(tree, tl.ravel(index), 0).reshape(shape)",
        tree=tree,
        index=value.tree,
        shape=shape,
    )
    return Value(picked, tile.dtype, value.axes)


def _permute(tree: ast.expr, order: list[int]) -> ast.expr:
    if order == sorted(order):
        return tree
    if len(order) == 2:
        return expr("tl.trans(tree)", tree=tree)
    dims: list[ast.expr] = [ast.Constant(d) for d in order]
    return expr("tl.permute(tree, dims)", tree=tree, dims=ast.Tuple(dims, ast.Load()))
