"""Writes to elements of on-chip tiles: a new value of the whole tensor, the old one elsewhere."""

import ast
from typing import TYPE_CHECKING

from rewrites.affine import affine
from rewrites.environment import lengths, padded
from rewrites.facts import Tile
from rewrites.quote import expr, name
from rewrites.scalars import logical
from rewrites.tensors import refuse_races
from rewrites.tile_blocks import repeated_block
from rewrites.tile_reshapes import spread
from rewrites.tile_scatter import scattered
from rewrites.tiles import (
    Length,
    Place,
    classify,
    from_space,
    gathered,
    lanes,
    lengths_of,
)
from rewrites.values import Value, chosen, collapsed, full, stored, strong

if TYPE_CHECKING:
    from rewrites.space import Space


def write(
    space: "Space", buffer: str, indices: list[ast.expr], value: Value, node: ast.AST
) -> None:
    """Set `buffer[indices]`; elements that the space does not reach keep their value."""
    tile = space.facts.tiles[buffer]
    lowering = space.lowering
    if tile.is_scalar:
        _write_scalar(space, tile, value, node)
        return
    indices = space.spelled_out(indices)
    places = classify(space, tile, indices)
    if any(_is_computed(space, place) for place in places):
        _write_scattered(space, tile, indices, value, node)
        return
    order = [place.axis for place in places]
    reached = frozenset(axis for axis in order if axis is not None)
    refuse_races(space, reached, node, buffer, value)
    keep: list[Value] = []
    for dimension, place in enumerate(places):
        keep += _limits(space, tile, dimension, place, node)
    condition = space.condition()
    new = stored(value, tile.dtype)
    tree, covered = from_space(space, tile, new, order)
    shifted = [d for d, p in enumerate(places) if p.axis is not None and p.index is not None]
    for dimension in shifted:
        tree, covered = _shift(space, tile, tree, covered, places, dimension, node)
    if condition is not None:
        inside, reach = from_space(space, tile, condition, order)
        moved = [d for d in shifted if d in reach]
        if moved:
            inside = expr("inside.to(tl.int32)", inside=inside)
            for dimension in moved:
                inside, reach = _shift(space, tile, inside, reach, places, dimension, node)
            inside = expr("inside != 0", inside=inside)
        keep.insert(0, Value(inside, "bool", reach))
    if keep:
        mask = logical(ast.And(), keep)
        if new.weak:
            tree = chosen(new).tree
        tree = expr("tl.where(mask, new, old)", mask=mask.tree, new=tree, old=name(buffer))
    elif new.weak or not covered:
        tree = full(_shape(tile), tree, tile.dtype)
    elif any(d not in covered and length > 1 for d, length in enumerate(lengths(tile))):
        tree = expr("tl.broadcast_to(tree, shape)", tree=tree, shape=_shape(tile))
    lowering.emit("buffer = tree", buffer=buffer, tree=tree)


def _write_scattered(
    space: "Space", tile: Tile, indices: list[ast.expr], value: Value, node: ast.AST
) -> None:
    """Set elements at computed indices, of which each is reached once."""
    new = chosen(stored(value, tile.dtype))
    found = spread(space, tile, indices, new)
    if found is not None:
        tree, condition = found
        mask = ast.Constant(True) if condition is None else condition.tree
    else:
        tree, mask = scattered(space, tile, indices, new, node)
    space.lowering.emit("tile = tl.where(mask, new, tile)", tile=tile.name, mask=mask, new=tree)


def _limits(space: "Space", tile: Tile, dimension: int, place: Place, node: ast.AST) -> list[Value]:
    """Conditions on a dimension's lanes where a write reaches only some of them."""
    is_whole = place.axis is None or space.axes[place.axis].extent == tile.shape[dimension]
    if is_whole and (place.index is None or _is_bare(space, place)):
        return []
    here = lanes(space, tile, dimension)
    reach = frozenset([dimension])
    if place.index is None:
        assert place.axis is not None
        limit = space.axes[place.axis].tree
        return [Value(expr("here < limit", here=here, limit=limit), "bool", reach)]
    if place.axis is None:
        index = space.value(place.index)
        return [Value(expr("here == index", here=here, index=index.tree), "bool", reach)]
    start = _start(space, place)
    axis = space.axes[place.axis]
    first = Value(expr("here >= start", here=here, start=start.tree), "bool", reach)
    end = expr("here < start + extent", here=here, start=start.tree, extent=axis.tree)
    return [first, Value(end, "bool", reach)]


def _is_bare(space: "Space", place: Place) -> bool:
    """Whether the index is the loop variable itself, with other lanes than the dimension has."""
    return (
        place.axis is not None
        and isinstance(place.index, ast.Name)
        and place.index.id == space.axes[place.axis].variable
    )


def _shift(
    space: "Space",
    tile: Tile,
    tree: ast.expr,
    covered: frozenset[int],
    places: list[Place],
    dimension: int,
    node: ast.AST,
) -> tuple[ast.expr, frozenset[int]]:
    """A value over `start + i`, moved to where it belongs along a dimension of the tile."""
    if dimension not in covered:
        return tree, covered
    place = places[dimension]
    assert place.axis is not None
    axis = space.axes[place.axis]
    shape = _value_shape(space, tile, places, covered, dimension)
    if place.block is not None:
        own = lengths_of(tile)[dimension]
        shape[dimension] = Length(axis.length, axis.length_tree)
        trees = [length.tree for length in shape]
        parts = own.extent // axis.length
        return repeated_block(tree, trees, dimension, parts, own.tree), covered
    start = _start(space, place)
    source = expr(
        "tl.minimum(tl.maximum(here - start, 0), last)",
        here=lanes(space, tile, dimension),
        start=start.tree,
        last=ast.Constant(axis.extent - 1),
    )
    moved = gathered(
        tree, source, shape, Length(axis.length, axis.length_tree), dimension, tile.dtype
    )
    return moved, covered


def _value_shape(
    space: "Space", tile: Tile, places: list[Place], covered: frozenset[int], dimension: int
) -> list[Length]:
    """The shape of a value that is moved along one dimension, once it is."""
    shape: list[Length] = []
    for d, own in enumerate(lengths_of(tile)):
        along = places[d].axis
        is_moved = d < dimension and d in covered and places[d].index is not None
        if d == dimension or is_moved:
            shape.append(own)
        elif d in covered and along is not None:
            shape.append(Length(space.axes[along].length, space.axes[along].length_tree))
        else:
            shape.append(Length(1, ast.Constant(1)))
    return shape


def _is_computed(space: "Space", place: Place) -> bool:
    """Whether an index is more than `start + i`, for which neighbours stay neighbours."""
    if place.index is None or not space.axes_of(place.index):
        return False
    if place.axis is None:
        return True
    variable = space.axes[place.axis].variable
    found = affine(place.index, [variable], space.environment)
    return found is None or found.factors != {variable: 1} or bool(space.axes_of(found.rest))


def _start(space: "Space", place: Place) -> Value:
    """The `start` of an index `start + i`."""
    assert place.index is not None and place.axis is not None
    found = affine(place.index, [space.axes[place.axis].variable], space.environment)
    assert found is not None
    return space.value(found.rest)


def _write_scalar(space: "Space", tile: Tile, value: Value, node: ast.AST) -> None:
    """A tile of one element is a scalar in Triton."""
    refuse_races(space, frozenset(), node, tile.name, value)
    new = stored(value, tile.dtype)
    tree = new.tree
    condition = space.condition()
    reach = new.axes if condition is None else new.axes | condition.axes
    # Of an axis with one element and more lanes, only the first lane counts.
    surplus = [m for p in sorted(reach) if (m := space.in_extent(p)) is not None]
    if new.axes:
        if surplus:
            lane = logical(ast.And(), surplus)
            zero = ast.Constant(0)
            tree = expr("tl.where(lane, tree, zero)", lane=lane.tree, tree=tree, zero=zero)
        tree = collapsed(tree, tile.dtype)
    if condition is not None:
        reached = logical(ast.And(), [condition, *surplus])
        inside = reached.tree
        if reached.axes:
            inside = expr("tl.max(inside.to(tl.int32)) != 0", inside=inside)
        if new.weak:
            tree = chosen(new).tree
        tree = expr("tl.where(mask, new, old)", mask=inside, new=tree, old=name(tile.name))
    elif new.weak and tile.dtype not in ("int32", "float32"):
        tree = strong(new).tree
    space.lowering.emit("buffer = tree", buffer=tile.name, tree=tree)


def _shape(tile: Tile) -> ast.Tuple:
    return ast.Tuple(
        [padded(e, t) for e, t in zip(tile.shape, tile.trees, strict=True)], ast.Load()
    )
