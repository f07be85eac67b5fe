"""Parts of tiles and tensors: their shapes, and where an element of a part stands in the whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tile2triton.frontend.extents import length
from tile2triton.frontend.failures import failure
from tile2triton.frontend.statics import plain
from tile2triton.frontend.trees import from_end, without_ellipsis

if TYPE_CHECKING:
    from tile2triton.frontend.tile_values import TileValue
    from tile2triton.frontend.values import Buffer

Shape = tuple[Any, ...]
# From the indices of an element of a part to its indices in the whole.
Inner = Callable[[tuple[Any, ...]], tuple[Any, ...]]


def part_of(whole: Buffer | TileValue, items: tuple[Any, ...]) -> tuple[Shape, Inner]:
    """The part that an index leaves: slices keep a dimension, numbers drop it, None adds one."""
    given = sum(item is not None and item is not ... for item in items)
    if given > len(whole.shape):
        raise failure(
            "T2T313",
            f"`{whole}` has {len(whole.shape)} "
            f"{'dimension' if len(whole.shape) == 1 else 'dimensions'}, but {given} indices",
        )
    added = sum(item is None for item in items)
    items = without_ellipsis(items, len(whole.shape) + added)
    items += (slice(None),) * (len(whole.shape) + added - len(items))
    shape: list[Any] = []
    places: list[Callable[[tuple[Any, ...]], Any]] = []
    extents = iter(whole.shape)
    for item in items:
        if item is None:
            shape.append(1)
            continue
        extent = next(extents)
        if isinstance(item, slice):
            places.append(_moved(len(shape), _start(item, extent)))
            shape.append(_length(item, extent))
        else:
            places.append(_fixed(from_end(item, extent)))
    return tuple(shape), lambda at: tuple(place(at) for place in places)


def expanded(shape: Shape, indices: tuple[Any, ...]) -> tuple[Any, ...]:
    """The indices of what is broadcast to another shape, which may lack leading extents of 1."""
    own = ((0,) * len(shape) + indices)[len(indices) :]
    return tuple(
        0 if plain(extent) == 1 else index for extent, index in zip(shape, own, strict=True)
    )


def _moved(dimension: int, start: Any) -> Callable[[tuple[Any, ...]], Any]:
    if isinstance(start, int) and start == 0:
        return lambda at: at[dimension]
    return lambda at: start + at[dimension]


def _fixed(index: Any) -> Callable[[tuple[Any, ...]], Any]:
    return lambda at: index


def _start(item: slice, extent: Any) -> Any:
    return 0 if item.start is None else from_end(item.start, extent)


def _length(item: slice, extent: Any) -> int:
    """The number of elements of a slice, which a tile must know."""
    if item.step is not None and item.step != 1:
        raise failure(
            "T2T205",
            "a slice with a step is no region",
            hint="leave the step out, or index the elements in a T.Parallel loop",
        )
    stop = extent if item.stop is None else from_end(item.stop, extent)
    found = length(_start(item, extent), stop)
    if found is None or plain(found) < 1:
        raise failure(
            "T2T280",
            "the extent of this part is not known when the kernel is compiled",
            found=(f"from {_start(item, extent)} to {stop}",),
            hint="say how many elements the tile has: A[start : start + block_M]",
        )
    return found
