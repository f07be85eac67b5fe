"""A load outside of loops becomes an asynchronous copy to shared memory, as loops have them.

So the tile that a product reads takes no registers on its way, and what stands between the load
and its first reader runs meanwhile.
"""

import re

from ...ttgir_text.tensor_types import alias_of, element_bits
from ..listing import Listing
from ..patching import Chip, Edit, Kind, Module, RefusedError, Request, Site, expect

_POINTER = re.compile(r"!tt\.ptr<(\w+)>$")
_ZERO = re.compile(r" dense<(0|0\.0+e\+00|false)>")


def edits(request: Request, chip: Chip) -> tuple[Edit, ...]:
    """Behind the pipeline, only loads outside of loops, or without stages, are left."""

    def run(module: Module, site: Site) -> str:
        listing = Listing(module)
        loads = listing.operations(("tt.load",), request.anchor)
        wanted = site.count("load", request.anchor)
        expect(len(loads), wanted, f"loads of `{request.anchor}` that no loop copies ahead")
        # From the last one up, so that the lines before it keep their numbers.
        for index in reversed(loads):
            _copy(listing, index)
        return str(listing)

    return (Edit("after:add_pipeline", run),)


def _copy(listing: Listing, index: int) -> None:
    """Put a copy where a load is, and wait for it in front of what reads it."""
    load = listing[index]
    tile = load.types[0] if load.types else None
    pointed = _POINTER.match(tile.element) if tile else None
    if tile is None or pointed is None or len(tile.shape) != 2 or not alias_of(tile):
        raise RefusedError("it is no load of a tile of two dimensions by pointers")
    operands: list[str | None] = [*load.operands, None, None]
    pointers, mask, other = operands[:3]
    if other is not None and not _is_zero(listing, other, index):
        raise RefusedError("what is outside of the tensor is not 0, as asynchronous copies fill it")
    readers = list(listing.readers(index))
    if any(listing[reader].name == "ttg.local_alloc" for reader in readers):
        raise RefusedError("the product reads it from shared memory; TMA is what copies it there")
    listing.require_shared_memory()
    rows, columns = tile.shape
    layout = f"#{alias_of(tile)}"
    memory = f"{rows}x{columns}x{pointed[1]}, {_layout(listing, rows, columns, pointed[1])}, "
    memory += "#smem, mutable"
    (value,) = load.results
    name = f"{value}_copied"
    masked = (f" mask {mask}" if mask else "") + (f" other {other}" if other else "")
    start = [
        f"{name} = ttg.local_alloc : () -> !ttg.memdesc<{memory}>",
        f"{name}_token = ttg.async_copy_global_to_local {pointers}, {name}{masked} : "
        f"tensor<{rows}x{columns}x{tile.element}, {layout}> -> <{memory}>",
        f"{name}_group = ttg.async_commit_group tokens {name}_token",
    ]
    finish = [
        f"{name}_wait = ttg.async_wait {name}_group {{num = 0 : i32}}",
        f"{value} = ttg.local_load {name} token {name}_wait : !ttg.memdesc<{memory}> "
        f"-> tensor<{rows}x{columns}x{pointed[1]}, {layout}>",
    ]
    place = listing.place_before(readers, index)
    listing.lines[place:place] = _like(listing.lines[index], load.location, finish)
    listing.lines[index : index + 1] = _like(listing.lines[index], load.location, start)


def _like(line: str, location: str, operations: list[str]) -> list[str]:
    """Operations as lines of a line's block, with its location."""
    indent = line[: len(line) - len(line.lstrip())]
    end = f" loc({location})" if location else ""
    return [indent + one + end for one in operations]


def _is_zero(listing: Listing, value: str, reader: int) -> bool:
    source = listing.definition(value, reader)
    return source is not None and _ZERO.match(listing[source].text) is not None


def _layout(listing: Listing, rows: int, columns: int, element: str) -> str:
    """Rows permuted in parts of 16 bytes, so that matrix units read them without conflicts."""
    part = 16 * 8 // element_bits(element)
    phase = max(1, 8 * part // columns)
    phases = max(1, min(8 // phase, columns // part))
    meaning = f"vec = {part}, perPhase = {phase}, maxPhase = {phases}, order = [1, 0]"
    return listing.define("copied", f"#ttg.swizzled_shared<{{{meaning}}}>")


ASYNC_OUTSIDE_LOOP = Kind(name="async_outside_loop", arguments=(), edits=edits)
