"""`T.Persistent`: the tiles of a grid that one program of a persistent kernel computes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tile2triton.frontend.blocks import Choice, loop_turns
from tile2triton.frontend.dynamic import Dynamic, is_scalar
from tile2triton.frontend.failures import failure
from tile2triton.frontend.loops import Loop, wanted_names
from tile2triton.frontend.native import compared, truth
from tile2triton.frontend.operators import call
from tile2triton.frontend.together import as_named
from tile2triton.frontend.trees import tree_of

if TYPE_CHECKING:
    from tile2triton.frontend.tracer import Tracer


class Persistent:
    """A loop over the tiles `index`, `index + wave_size`, … of the grid `domain`.

    The tiles are numbered in groups of `group_size` along the last dimension, so that programs
    that run together share rows and columns.
    """

    def __init__(self, domain: Any, wave_size: Any, index: Any, group_size: Any = 8) -> None:
        self.domain = tuple(domain) if isinstance(domain, (tuple, list)) else (domain,)
        self.wave_size = wave_size
        self.index = index
        self.group_size = group_size
        numbers = (*self.domain, wave_size, index, group_size)
        if not self.domain or not all(is_scalar(n) and not isinstance(n, float) for n in numbers):
            raise failure(
                "T2T186",
                "T.Persistent takes the extents of a grid, the number of programs, and which of "
                "them this one is",
                found=(f"domain: {domain!r}, wave_size: {wave_size!r}, index: {index!r}"[:80],),
                hint="write T.Persistent([m_tiles, n_tiles], num_programs, bx)",
            )

    def __iter__(self) -> Iterator[Any]:
        raise failure(
            "T2T158",
            "Python cannot run T.Persistent here",
            hint="write it right after `in` of a `for` in the kernel or in a macro",
        )


def persistent_turns(
    tracer: Tracer, loop: Persistent, targets: Any, carried: tuple[str, ...]
) -> Iterator[Any]:
    """Record the loop over the tiles; its body is traced once."""
    builder, scope = tracer.builder, tracer.scope
    names = wanted_names(targets, len(loop.domain), ("bx", "by", "bz"), "T.Persistent")
    *others, last = loop.domain
    group: Any = 1
    if others:
        group = call("max", (1, call("min", (loop.group_size, last), {})), {})
    is_whole = (
        isinstance(last, int) and isinstance(group, int) and truth(compared("Eq", last % group, 0))
    )
    group = _named(tracer, "group_size", group)
    total: Any = call("ceildiv", (last, group), {}) * group if others and not is_whole else last
    for extent in others:
        total = total * extent
    total = _named(tracer, "num_tiles", total)
    has_step = isinstance(loop.wave_size, int)
    bounds = (
        {"start": loop.index, "stop": total, "step": loop.wave_size}
        if has_step
        else {"start": call("ceildiv", (total, loop.wave_size), {})}
    )
    wanted = "tile_id" if has_step else "wave"
    for number in loop_turns(builder, Loop("serial", bounds), wanted, carried):
        tile = number if has_step else number * loop.wave_size + loop.index
        place = _coordinates(tracer.let, names, tile, others, group)
        if has_step and is_whole:
            yield as_named(place, targets)
            continue
        choice = Choice(builder, scope, None, place[-1] < last)
        yield as_named(place, targets)
        choice.end()


def _named(tracer: Tracer, name: str, number: Any) -> Any:
    """The number under a name of the kernel's, where it is computed."""
    tree = tree_of(number)
    is_short = isinstance(tree, (ast.Constant, ast.Name))
    return number if is_short else tracer.let(name, Dynamic(tree, "int32"))


def _coordinates(
    let: Callable[[str, Dynamic], Dynamic],
    names: tuple[str, ...],
    tile: Dynamic,
    others: list[Any],
    group: Any,
) -> tuple[Dynamic, ...]:
    """Groups of the last dimension vary slowest; inside of a group it varies fastest."""
    tile = let("tile_id", tile)
    if not others:
        return (let(names[0], tile),)
    rest = let("row", tile // group)
    place: list[Dynamic] = []
    for name, extent in zip(names[-2::-1], others[::-1], strict=True):
        place.insert(0, let(name, rest % extent))
        rest = rest // extent
    return (*place, let(names[-1], rest * group + tile % group))
