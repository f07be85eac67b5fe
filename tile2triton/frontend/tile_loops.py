"""Loops over the tiles of an extent, in programs on whole operands.

`for i in range(0, x.shape[-2], tile_size)` is the extent itself, `tile_size` at a time: its body is
traced once, for the whole extent. What is done to a tile must not depend on where tiles end, so
that a tile is not reduced or scanned by itself; what the loop carries is a recurrence along the
extent, or is added up. See `carried.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from rewrites.operands.terms import Size
from tile2triton.diagnostics import TileError
from tile2triton.frontend.builder import Block, Builder
from tile2triton.frontend.carried import Carried, after_loop
from tile2triton.frontend.failures import failure
from tile2triton.frontend.loops import Loop
from tile2triton.frontend.named_numbers import with_tree
from tile2triton.frontend.scopes import Scope
from tile2triton.frontend.statics import note_value, number_name, plain
from tile2triton.frontend.whole_operands import TileIndex, WholeOperand, extent_of

# So many turns are unrolled where a loop does not go by tiles.
UNROLLED = 64


@dataclass(frozen=True)
class TileLoop:
    """The extent that a loop is over, marked with the size of its tiles."""

    size: Size

    @property
    def text(self) -> str:
        return f"range(0, {self.size.name or self.size.value}, {self.size.tile})"


def operand_turns(
    builder: Builder, scope: Scope, loop: Loop, carried: tuple[str, ...]
) -> Iterator[Any]:
    """A loop of a program on whole operands: over tiles, or a short one that Python runs."""
    start, stop, step = (*loop.bounds, 1)[:3] if len(loop.bounds) > 1 else (0, loop.bounds[0], 1)
    size = extent_of(stop)
    if size is None and plain(stop) == 1 and plain(start) == 0:
        # An extent of 1 has no name.
        size = Size(1)
    if size is None or plain(step) == 1:
        if len(range(plain(start), plain(stop), plain(step))) > UNROLLED:
            raise failure(
                "T2T853",
                f"this loop has more than {UNROLLED} turns, each of which would be written out",
                hint="loop over tiles, for i in range(0, x.shape[-2], tile_size), or write what is "
                "done to whole operands",
            )
        for bound in loop.bounds:
            note_value(bound)
        yield from scope.python_turns(range(*map(plain, (start, stop, step))))
        return
    if plain(start) != 0:
        raise failure(
            "T2T853",
            "a loop over the tiles of an extent starts at 0",
            hint=f"write range(0, {size.name}, {plain(step)})",
        )
    if any(block.kind == "tiles" for block in builder.blocks):
        raise failure(
            "T2T853",
            "this loop over tiles stands in another one",
            hint="what is done along an extent within the tiles of another is said of the whole "
            "extent: T.sum(x, axis=-1), T.linear_scan(a, b, axis=-1), ...",
        )
    yield from _tile_turns(builder, scope, TileLoop(replace(size, tile=plain(step))), carried)


def _tile_turns(
    builder: Builder, scope: Scope, loop: TileLoop, carried: tuple[str, ...]
) -> Iterator[Any]:
    before = {
        name: Carried(name, scope.value(name), loop.size)
        for name in carried
        if isinstance(scope.value(name), (WholeOperand, int, float))
    }
    for name, value in before.items():
        scope.bind(name, value)
    parent, block = builder.block, Block("tiles")
    builder.open(block)
    yield TileStart(loop)
    builder.flush()
    after = {name: after_loop(one, scope.value(name)) for name, one in before.items()}
    builder.close()
    parent.body += block.body
    for name, home in builder.bound.items():
        if home is block:
            builder.bound[name] = parent
    for name, value in after.items():
        scope.bind(name, value)


class TileStart(TileIndex):
    """The variable of a loop over tiles: where a tile starts."""

    def __init__(self, loop: TileLoop) -> None:
        self.loop = loop

    def __add__(self, other: Any) -> Any:
        if isinstance(other, WholeOperand):
            return self._positions(other)
        if isinstance(other, int) and plain(other) == self.loop.size.tile:
            return TileStop(self.loop)
        raise self.refusal()

    __radd__ = __add__

    def slice_to(self, stop: Any) -> Size | None:
        """The extent of which `start:stop` is a tile."""
        is_tile = isinstance(stop, TileStop) and stop.loop is self.loop
        return self.loop.size if is_tile else None

    def _positions(self, other: WholeOperand) -> Any:
        """`i + T.arange(tile_size)`: where the elements of a tile stand in the extent."""
        from tile2triton.frontend.operators import call

        size = self.loop.size
        if other.text != f"T.arange({size.tile})":
            raise self.refusal()
        extent = size.value
        if size.name:
            extent = with_tree(size.value, number_name(size.name, size.value))
        whole = call("arange", (extent,), {})
        return whole.with_sizes((size,))

    def refusal(self) -> TileError:
        return failure(
            "T2T853",
            f"the variable of a loop over tiles stands in slices only: i:i + {self.loop.size.tile}",
            found=(f"loop: {self.loop.text}",),
            hint=f"the positions of a tile's elements are i + T.arange({self.loop.size.tile})",
        )

    def _used(self, *_: Any) -> NoReturn:
        raise self.refusal()

    __sub__ = __rsub__ = __mul__ = __rmul__ = __floordiv__ = __mod__ = _used
    __lt__ = __le__ = __gt__ = __ge__ = _used
    __eq__ = __ne__ = _used
    __hash__ = object.__hash__
    __index__ = __int__ = __float__ = __bool__ = _used


class TileStop(TileStart):
    """Where the tile that starts at the loop's variable ends."""
