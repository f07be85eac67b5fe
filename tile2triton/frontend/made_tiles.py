"""Tiles that nobody allocates: of expressions, and of operators without a destination."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tile2triton.frontend.allocations import allocate_tile
from tile2triton.frontend.blocks import loop_turns
from tile2triton.frontend.builder import Builder, require
from tile2triton.frontend.failures import failure
from tile2triton.frontend.loops import Loop
from tile2triton.frontend.statics import plain
from tile2triton.frontend.stores import store_element
from tile2triton.frontend.tile_parts import Shape, part_of
from tile2triton.frontend.tile_values import NAMES, TileValue, as_value
from tile2triton.frontend.values import Buffer, Element, TilePart
from tile2triton.ops.base import Made, Operator, Source


class MadeTile(TileValue):
    """The result of an operator that was called without a destination."""

    def __init__(
        self, made: Made, sources: tuple[Any, ...], fill: Callable[[Buffer], None], text: str
    ) -> None:
        super().__init__(made.shape, made.dtype, self._read, sources)
        self._made = made
        self._fill = fill
        self._text = text
        self.tile: Buffer | None = None
        # When it was filled.
        self.filled_at = 0
        require(text).made.append(self)

    def __repr__(self) -> str:
        return self._text

    @property
    def is_fixed(self) -> bool:
        """It is memory, which has its values once the tile is made."""
        return False

    def changed(self, since: int = 0) -> str | None:
        """What was stored to: once there is a tile, the tile itself."""
        if self.tile is None:
            return super().changed(since)
        stored = require("a whole tile").stored.get(self.tile.name, -1)
        return f"`{self.tile.name}` was stored to" if stored > max(since, self.filled_at) else None

    def prepare(self) -> None:
        tile_of(self)

    def _read(self, indices: tuple[Any, ...]) -> Any:
        return tile_of(self)[indices]

    def filled(self, name: str) -> Buffer:
        """The tile, allocated and filled; a second use of the value is of the same tile."""
        if self.tile is None:
            operator = "alloc_shared" if self._made.scope == "shared" else "alloc_fragment"
            self.tile = _allocated(operator, self.shape, self._made.dtype, name or self._made.name)
            self._fill(self.tile)
            self.filled_at = require("a whole tile").count
        return self.tile


def tile_of(value: Any, name: str = "") -> Buffer:
    """The tile that holds a value from here on, under a name where the user gave one."""
    if isinstance(value, Buffer):
        return value
    if isinstance(value, MadeTile) and value.tile is not None:
        return value.tile
    computed = as_value(value)
    builder = require(f"`{computed}`")
    refuse_in_parallel(builder, computed)
    refuse_changed(computed)
    if isinstance(computed, MadeTile):
        return computed.filled(name)
    computed.prepare()
    copied = computed.copied
    if not name:
        name = f"{builder.wanted[copied.name]}_cast" if copied is not None else "value"
    tile = _allocated("alloc_fragment", computed.shape, str(computed.dtype), name)
    if copied is not None:
        _call("copy", copied, tile)
    else:
        for_elements(
            builder,
            computed.shape,
            lambda at: store_element(builder, tile[at], computed.element(at)),
        )
    return tile


def named_tiles(name: str, value: Any) -> Any:
    """What a name stands for: the tile of a value that stores could change, also in a list."""
    if isinstance(value, (list, tuple)) and any(isinstance(one, TileValue) for one in value):
        made = [named_tiles(f"{name}_{at}", one) for at, one in enumerate(value)]
        if isinstance(value, list):
            # Others who have the list see the tiles, too.
            value[:] = made
            return value
        return tuple(made) if type(value) is tuple else value
    if isinstance(value, TileValue) and not value.is_fixed:
        return tile_of(value, name)
    return value


def operands(operator: Operator, given: dict[str, Any]) -> dict[str, Any]:
    """The arguments of an operator on tiles, with tiles made of what was computed."""
    made = dict(given)
    for key, one in given.items():
        if isinstance(one, TileValue) or (isinstance(one, TilePart) and one.is_view):
            if key == operator.writes:
                raise failure(
                    "T2T146",
                    f"T.{operator.name} would store to `{one}`, which is computed and no tile",
                    hint="name the value first: x = ...",
                )
            made[key] = tile_of(one)
    return made


def made_by(
    operator: Operator, name: str, arguments: tuple[Any, ...], keywords: Mapping[str, Any]
) -> MadeTile | None:
    """The result of a call that gives no destination; None: the call gives one, or less."""
    if operator.makes is None:
        return None
    try:
        given = operator.signature.bind_partial(*arguments, **keywords).arguments
    except TypeError:
        return None
    required = {
        one.name for one in operator.signature.parameters.values() if one.default is one.empty
    }
    if operator.writes in given or required - set(given) != {operator.writes}:
        return None
    sources = {
        key: one for key, one in given.items() if isinstance(one, (Buffer, Element, TileValue))
    }
    if not sources:
        return None
    made = operator.makes({key: _source(one) for key, one in sources.items()}, plain_options(given))
    for option, value in made.options.items():
        if option in given and plain(given[option]) != value:
            raise failure(
                "T2T160",
                f"T.{name} without a destination makes a new tile, so that {option}={value}",
                hint=f"leave `{option}` out, or give a destination",
            )
    defaults = operator.signature.parameters
    chosen = {key: one for key, one in made.options.items() if defaults[key].default != one}
    options = {**keywords, **chosen}

    def fill(tile: Buffer) -> None:
        at = list(operator.signature.parameters).index(operator.writes)
        if len(arguments) >= at:
            _call(name, *arguments[:at], tile, *arguments[at:], **options)
        else:
            _call(name, *arguments, **options, **{operator.writes: tile})

    text = ", ".join(str(one) for one in sources.values())
    return MadeTile(made, tuple(sources.values()), fill, f"T.{name}({text})")


def plain_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments that are numbers, flags and texts."""
    return {key: plain(one) for key, one in given.items() if isinstance(one, (int, str))}


def refuse_unused(builder: Builder) -> None:
    """A result that nothing takes is a destination forgotten."""
    for value in builder.made:
        if value.tile is None and not builder.problems:
            raise failure(
                "T2T145",
                f"nothing uses what `{value}` makes",
                hint="give the result a name, or give the call the tile that it is stored to",
                at=value.position,
            )


def _source(value: Any) -> Source:
    if isinstance(value, Element) and not isinstance(value, TilePart):
        if value.is_element:
            raise failure(
                "T2T280",
                f"`{value}` says where a part starts, but not how much of it a tile takes",
                hint="write slices, such as A[i : i + block_M, k : k + block_K], or give the tile "
                "that it is copied to",
            )
        shape, _ = part_of(value.buffer, value.index)
        return Source(shape, str(value.dtype), value.buffer.scope)
    if isinstance(value, Buffer):
        shape, _ = part_of(value, ())
        return Source(shape, str(value.dtype), value.scope)
    computed = as_value(value)
    return Source(computed.shape, str(computed.dtype), "fragment")


def refuse_in_parallel(builder: Builder, value: Any) -> None:
    """Whole tiles are computed outside of T.Parallel."""
    if any(block.kind == "parallel" for block in builder.blocks):
        raise failure(
            "T2T143",
            f"`{value}` is a whole tile, but T.Parallel computes with elements",
            hint="compute it before the loop, or index the elements in it",
        )


def refuse_changed(value: TileValue) -> None:
    """A tile is made of what its operands were when it was written down."""
    changed = value.changed()
    if changed is not None:
        raise failure(
            "T2T144",
            f"{changed} after `{value}` was written down, and before it is used",
            hint="give it a name in the kernel where it is written, or put @T.macro above the "
            "function that computes it",
        )


def _allocated(operator: str, shape: Shape, dtype: str, name: str) -> Buffer:
    tile = allocate_tile(require(name), operator, {"shape": shape, "dtype": dtype})
    assert tile.naming is not None
    tile.naming.settle(name)
    return tile


def for_elements(builder: Builder, shape: Shape, store: Callable[[tuple[Any, ...]], None]) -> None:
    """`for i, j in T.Parallel(...)` around what is stored at each index."""
    if len(shape) > len(NAMES):
        raise failure("T2T141", f"a tile of {len(shape)} dimensions is computed in no T.Parallel")
    loop = Loop("Parallel", {"extents": shape})
    for values in loop_turns(builder, loop, NAMES[: len(shape)], ()):
        store(tuple(values))


def _call(name: str, *arguments: Any, **keywords: Any) -> Any:
    from tile2triton.frontend.operators import call

    return call(name, arguments, keywords)
