"""How the two sides of a copy match; the reading of one side stands in `operand.py`."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from rewrites.errors import Problem
from rewrites.facts import Facts
from rewrites.quote import literal
from tile2triton.ops.operand import (
    Region,
    as_written,
    is_element,
    is_element_form,
    is_region,
    known_dtype,
    reaches_outside,
    read_region,
    region_problems,
)
from tile2triton.ops.static import difference, static_value

__all__ = [
    "CopyMatch",
    "Region",
    "as_written",
    "copy_problems",
    "difference",
    "is_element",
    "is_element_form",
    "is_region",
    "known_dtype",
    "match_copy",
    "read_region",
    "region_problems",
    "static_value",
]


@dataclass(frozen=True)
class CopyMatch:
    """How the two sides of a copy move together.

    The iteration space has one dimension for each dimension of the deciding side whose extent is
    not 1: `extents` as trees, `sizes` where they are known. Iteration dimension n moves along
    dimension `source_axes[n]` of the source and `destination_axes[n]` of the destination; every
    other dimension stays at its start.
    """

    source: Region
    destination: Region
    extents: tuple[ast.expr, ...]
    sizes: tuple[int | None, ...]
    source_axes: tuple[int, ...]
    destination_axes: tuple[int, ...]


def match_copy(src: Region, dst: Region, facts: Facts) -> CopyMatch | None:
    """How the sides of a copy match, or None where their dimensions do not.

    The side that is further on the chip decides the extents: a fragment before a shared tile before
    a tensor, and the source between equals. A start takes the extents of the other side, aligned at
    the last dimension. Dimensions of extent 1 are dropped on both sides.
    """
    source, destination = _completed(src, dst), _completed(dst, src)
    if source is None or destination is None:
        return None
    levels = ("global", "shared", "fragment")
    source_decides = levels.index(src.scope) >= levels.index(dst.scope)
    source_axes, destination_axes = _long_axes(source), _long_axes(destination)
    tile = source if source_decides else destination
    if source.rank == destination.rank > 1 and source.sizes == destination.sizes:
        # An extent with a name stays a dimension, so that it may be tuned to more than 1.
        source_axes = destination_axes = _named_or_long_axes(tile)
    if len(source_axes) != len(destination_axes):
        return None
    deciding, axes = (source, source_axes) if source_decides else (destination, destination_axes)
    assert deciding.extents is not None
    extents = tuple(deciding.extents[axis] for axis in axes)
    sizes = tuple(deciding.sizes[axis] for axis in axes)
    return CopyMatch(src, dst, extents, sizes, source_axes, destination_axes)


def copy_problems(
    call: ast.Call, src: ast.expr, dst: ast.expr, facts: Facts, name: str
) -> Iterator[Problem]:
    """What is wrong with the two sides of a copy."""
    problems = [*region_problems(src, facts), *region_problems(dst, facts)]
    yield from problems
    source, destination = read_region(src, facts), read_region(dst, facts)
    if problems or source is None or destination is None:
        return
    found = tuple(
        f"{as_written(side.node)}: {side.shape_text} {side.dtype}" for side in (source, destination)
    )
    if source.whole and destination.whole and not _same_shape(source, destination):
        tensor = next((side for side in (source, destination) if side.is_tensor), None)
        start = f"{tensor.buffer}[{', '.join('0' * tensor.rank)}]" if tensor else ""
        yield Problem(
            call,
            "T2T210",
            f"{name} of two whole buffers needs equal shapes",
            found,
            f"Say where the part starts, such as `{start}`."
            if tensor
            else "Give the tiles one shape, or name the part that is meant.",
        )
        return
    match = match_copy(source, destination, facts)
    if match is None:
        yield Problem(
            call,
            "T2T211",
            f"the two sides of {name} have different numbers of dimensions that are longer than 1",
            found,
            "pick the further dimensions with an index, such as `A[batch, i : i + 64, head, :]`",
        )
        return
    for side, axes in (
        (source, match.source_axes),
        (destination, match.destination_axes),
    ):
        yield from _lengths(call, side, axes, match, found, name, facts)


def _completed(region: Region, other: Region) -> Region | None:
    """A start with the extents of the other side; None where they do not fit its dimensions."""
    if region.extents is not None:
        return region
    ones = (literal(1),) * region.rank
    spare = max(other.rank - region.rank, 0)
    if any(size != 1 for size in other.sizes[:spare]):
        return None
    extents = (*ones, *(other.extents or ones)[spare:])[-region.rank :]
    sizes = (*(1 for _ in ones), *other.sizes[spare:])[-region.rank :]
    return replace(region, extents=extents, sizes=sizes)


def _long_axes(region: Region) -> tuple[int, ...]:
    return tuple(axis for axis, size in enumerate(region.sizes) if size != 1)


def _named_or_long_axes(region: Region) -> tuple[int, ...]:
    extents = region.extents or ()
    return tuple(
        axis
        for axis, (size, extent) in enumerate(zip(region.sizes, extents, strict=True))
        if size != 1 or not isinstance(extent, ast.Constant)
    )


def _same_shape(left: Region, right: Region) -> bool:
    if left.rank != right.rank:
        return False
    pairs = zip(left.shape, right.shape, left.sizes, right.sizes, strict=True)
    return all(
        first == second and (first is not None or ast.unparse(one) == ast.unparse(other))
        for one, other, first, second in pairs
    )


def _lengths(
    call: ast.Call,
    side: Region,
    axes: tuple[int, ...],
    match: CopyMatch,
    found: tuple[str, ...],
    name: str,
    facts: Facts,
) -> Iterator[Problem]:
    """A side's own extents against those that are copied."""
    moved: list[int | None] = [1] * side.rank
    for axis, size in zip(axes, match.sizes, strict=True):
        moved[axis] = size
    if side.extents is None:
        if not side.is_tensor:
            yield from reaches_outside(side, tuple(moved), facts)
        return
    for axis, size in zip(axes, match.sizes, strict=True):
        own = side.sizes[axis]
        if own is None or size is None or own == size:
            continue
        if side.is_tensor and own > size:
            if side is match.destination:
                # What the slice has beyond the tile is left alone.
                continue
            yield Problem(
                call,
                "T2T212",
                f"`{as_written(side.node)}` is larger than the tile that {name} moves: {own} "
                f"against {size} in dimension {axis}",
                found,
                "make the slice as long as the tile, or say only where it starts",
            )
        elif not side.is_tensor:
            yield Problem(
                call,
                "T2T213",
                f"the two tiles of {name} have different extents: {own} against {size} in "
                f"dimension {axis} of `{as_written(side.node)}`",
                found,
                "give both sides the same shape",
            )
