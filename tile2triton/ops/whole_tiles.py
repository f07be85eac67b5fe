"""A whole tile, or a part of one, as one Triton value: how operators on tiles read and write it."""

import ast

from rewrites import tiles
from rewrites.quote import name
from rewrites.space import Axis, Space
from rewrites.stores import store
from rewrites.values import Value, cast
from tile2triton.ops.lowerings import indices_of
from tile2triton.ops.regions import Region


def region_value(space: Space, region: Region) -> Value:
    """A region of a tile, with all its dimensions; lanes beyond its extents hold anything."""
    if region.whole:
        return Value(name(region.buffer), region.dtype)
    inner = _space(space, region)
    indices = indices_of(region, inner, tuple(range(region.rank)))
    return tiles.read(inner, region.buffer, indices, region.node)


def write_region(space: Space, region: Region, value: Value, node: ast.AST) -> None:
    """Set a region of a tile to a value of its shape."""
    value = cast(value, region.dtype)
    if region.whole:
        space.lowering.emit("buffer = value", buffer=region.buffer, value=value.tree)
        return
    inner = _space(space, region)
    indices = indices_of(region, inner, tuple(range(region.rank)))
    full = Value(value.tree, value.dtype, frozenset(range(inner.rank)))
    store(inner, region.buffer, indices, full, node)


def _space(space: Space, region: Region) -> Space:
    """One axis for each dimension of the region, those of one element included."""
    assert region.extents is not None
    axes = []
    for dimension, (size, extent) in enumerate(zip(region.sizes, region.extents, strict=True)):
        assert size is not None
        axes.append(Axis.of(f"{region.buffer.lower()}_{dimension} axis", size, extent))
    return Space(space.lowering, tuple(axes))
