"""Copies through TMA descriptors: loads of tiles, and stores of whole ones, also in parts."""

import ast
import math

from rewrites.descriptors import ALIGNMENT, descriptor_for
from rewrites.dtypes import bits
from rewrites.facts import is_specialized
from rewrites.nodes import Comment
from rewrites.quote import copy_tree, expr, literal, name
from rewrites.space import Space
from rewrites.values import Value, cast
from tile2triton.ops.regions import CopyMatch, Region

# Bytes of a tile from which on it is stored in parts, where its memory would come on top.
LARGE = 32 * 1024


def load_by_descriptor(space: Space, match: CopyMatch, is_wanted: bool) -> bool:
    """Load a GEMM operand through a TMA descriptor, where the target and the tensor allow it.

    Other tiles go that way where that `is_wanted`.
    """
    source, destination = match.source, match.destination
    plan = space.lowering.descriptors
    is_operand = destination.buffer in plan.operands or (
        is_wanted and destination.buffer in space.facts.tiles
    )
    if not (is_operand and destination.whole and source.buffer in plan.loads):
        return False
    if source.buffer in space.lowering.safe_values:
        return False
    found = _descriptor(space, match, source, match.source_axes)
    if found is None:
        return False
    tile = space.facts.tiles[destination.buffer]
    starts = _starts(space, source, found)
    value = Value(expr("block.load(starts)", block=name(found), starts=starts), source.dtype)
    tree = value.tree
    if source.rank != tile.rank:
        tree = expr("tree.reshape()", tree=tree)
        assert isinstance(tree, ast.Call)
        tree.args = list(tile.trees)
    moved = cast(Value(tree, source.dtype), destination.dtype)
    space.lowering.emit("target = value", target=destination.buffer, value=moved.tree)
    return True


def store_by_descriptor(space: Space, match: CopyMatch, is_wanted: bool) -> bool:
    """Store a whole tile to an output through a TMA descriptor, where that is possible."""
    source, destination = match.source, match.destination
    plan = space.lowering.descriptors
    if not (destination.buffer in plan.stores and source.whole):
        return False
    if not (plan.operands or is_wanted):
        return False
    if len(match.extents) < 2:
        return False
    count = _parts(space, match)
    found = _descriptor(space, match, destination, match.destination_axes, count)
    if found is None:
        return False
    value = Value(name(source.buffer), source.dtype)
    starts = _starts(space, destination, found)
    if count == 1:
        _store(space, found, starts, value, destination)
        return True
    space.facts.subtile_stores += 1
    rows, columns = match.extents
    width = expr("n // count", n=columns, count=literal(count))
    space.lowering.out.append(Comment(f"Stored in {count} parts, which take less shared memory."))
    for number, part in enumerate(_split(space, value.tree, rows, columns, count)):
        at = copy_tree(starts)
        if number:
            by = width if number == 1 else expr("i * n", i=literal(number), n=width)
            at.elts[-1] = expr("start + by", start=at.elts[-1], by=by)
        _store(space, found, at, Value(part, source.dtype), destination)
    return True


def _store(space: Space, block: str, starts: ast.List, value: Value, destination: Region) -> None:
    tree = cast(value, destination.dtype).tree
    if destination.rank > 2:
        tree = expr("tree.reshape()", tree=tree)
        assert isinstance(tree, ast.Call)
        tree.args = [copy_tree(one) for one in space.facts.descriptors[block].block]
    space.lowering.emit("block.store(starts, tree)", block=name(block), starts=starts, tree=tree)


def _parts(space: Space, match: CopyMatch) -> int:
    """In how many parts, side by side, a tile is stored.

    Triton puts the memory for a tile that is stored as it was summed beside that of the loop whose
    result it is; parts follow the loop and take its memory.
    """
    source, (*_, columns) = match.source, match.sizes
    if source.rank != 2 or None in match.sizes or len(match.sizes) != 2:
        return 1
    wanted = space.facts.schedule.subtiles
    if is_specialized(space.facts) and space.facts.schedule.programs is None:
        # Consumers have memory of their own for what they store, behind all that they multiply.
        wanted = 1
    if wanted is None:
        area = math.prod(size or 0 for size in match.sizes) * bits(source.dtype) // 8
        wanted = 2 if source.dtype == match.destination.dtype and area > LARGE else 1
    width = bits(match.destination.dtype) // 8
    while wanted > 1 and (columns or 0) // wanted * width < ALIGNMENT:
        wanted //= 2
    return wanted


def _split(
    space: Space, tile: ast.expr, rows: ast.expr, columns: ast.expr, count: int
) -> list[ast.expr]:
    """The parts of a tile, side by side; `count` is a power of two."""
    if count == 1:
        return [tile]
    half = expr("n // 2", n=columns)
    if isinstance(columns, ast.BinOp) and isinstance(columns.op, ast.FloorDiv):
        # `n // 2 // 2` as `n // 4`.
        half = copy_tree(columns)
        assert isinstance(half, ast.BinOp) and isinstance(half.right, ast.Constant)
        half.right = ast.Constant(2 * int(str(half.right.value)))
    left, right = (space.lowering.names.fresh(side) for side in ("left", "right"))
    space.lowering.emit(
        "left, right = tl.split(tl.reshape(tile, (rows, 2, half)).permute(0, 2, 1))",
        left=left,
        right=right,
        tile=tile,
        rows=rows,
        half=half,
    )
    return [
        part for side in (left, right) for part in _split(space, name(side), rows, half, count // 2)
    ]


def _descriptor(
    space: Space, match: CopyMatch, region: Region, axes: tuple[int, ...], parts: int = 1
) -> str | None:
    """The descriptor of a region's blocks, or of so many parts of them, side by side."""
    if None in match.sizes:
        return None
    sizes = {d: size for d, size in zip(axes, match.sizes, strict=True) if size is not None}
    extents = dict(zip(axes, match.extents, strict=True))
    if parts > 1:
        sizes[axes[-1]] //= parts
        extents[axes[-1]] = expr("n // parts", n=extents[axes[-1]], parts=literal(parts))
    found = descriptor_for(
        space.facts, space.environment, region.buffer, region.starts, sizes, extents
    )
    return None if found is None else found.name


def _starts(space: Space, region: Region, descriptor: str) -> ast.List:
    """A tensor map takes coordinates of 32 bits, in the descriptor's order."""
    order = space.facts.descriptors[descriptor].order
    starts = [cast(space.value(region.starts[d]), "int32").tree for d in order]
    return ast.List(starts, ast.Load())
