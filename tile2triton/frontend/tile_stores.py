"""Stores to whole tiles and to parts of tiles and tensors, plain and augmented."""

from __future__ import annotations

from typing import Any

from tile2triton.frontend.builder import Builder, require
from tile2triton.frontend.dynamic import is_scalar
from tile2triton.frontend.failures import failure
from tile2triton.frontend.made_tiles import (
    for_elements,
    refuse_changed,
    refuse_in_parallel,
    tile_of,
)
from tile2triton.frontend.statics import plain
from tile2triton.frontend.stores import augmented_store, store_element
from tile2triton.frontend.tile_parts import Shape, expanded, part_of
from tile2triton.frontend.tile_values import TileValue, is_tile, pointwise, shape_text
from tile2triton.frontend.values import Buffer, Element, TilePart


def update(target: Buffer | TilePart, operation: str | None, value: Any) -> None:
    """`x += value`, or `x[...] = value`, of all elements of a tile or of a part of it."""
    builder = require(f"`{target}`")
    refuse_in_parallel(builder, target)
    buffer = target if isinstance(target, Buffer) else target.buffer
    index = () if isinstance(target, Buffer) else target.index
    if isinstance(target, TilePart) and target.is_view:
        raise failure(
            "T2T146",
            f"`{target}` is what an expression makes of a tile, and no place to store to",
            hint=f"store to `{buffer.name}` itself",
        )
    shape, inner = part_of(buffer, index)
    if is_tile(value) or not is_scalar(value):
        given, value = value, pointwise(lambda element: element, (value,))
        refuse_changed(value)
        value.prepare()
        _refuse_shape(target, shape, given, value.shape)

    def store(at: tuple[Any, ...]) -> None:
        element = _element(value, at)
        if operation is None:
            store_element(builder, buffer[inner(at)], element)
        else:
            augmented_store(builder, buffer[inner(at)], operation, element)

    for_elements(builder, shape, store)


def store_part(builder: Builder, target: Element, value: Any) -> None:
    """`x[index] = value`: of one element, or of all elements of a part of a tile or tensor."""
    from tile2triton.frontend.operators import call

    if isinstance(target, TilePart):
        update(target, None, value)
    elif is_tile(value) and not target.is_element:
        call("copy", (tile_of(value), target), {})
    else:
        store_element(builder, target, value)


def update_part(builder: Builder, target: Element, operation: str, value: Any) -> None:
    """`x[index] += value`: of one element, or of all elements of a part of a tile."""
    if isinstance(target, TilePart):
        update(target, operation, value)
    else:
        augmented_store(builder, target, operation, value)


def _element(value: Any, at: tuple[Any, ...]) -> Any:
    return value.element(expanded(value.shape, at)) if isinstance(value, TileValue) else value


def _refuse_shape(target: Any, shape: Shape, value: Any, its_shape: Shape) -> None:
    own = [plain(extent) for extent in shape]
    given = [plain(extent) for extent in its_shape]
    leading = given[: max(len(given) - len(own), 0)]
    pairs = zip(given[::-1], own[::-1], strict=False)
    if any(one != 1 for one in leading) or any(one not in (1, other) for one, other in pairs):
        raise failure(
            "T2T141",
            f"the value does not have the shape of `{target}`",
            found=(f"{target}: {shape_text(shape)}", f"{value}: {shape_text(its_shape)}"),
            hint="give it its other dimension: x[:, None] for each row, x[None, :] for each column",
        )
