"""How one tile lies in shared memory: T.annotate_layout.

| `kind` | arguments | means |
|---|---|---|
| "swizzled" | `bytes`: 32, 64 or 128 | rows of so many bytes are permuted in parts of 16 |
| "none" | | rows one after the other |
| "linear" | `offsets` | the indices that differ with each bit of a place, in a row |
| "padded" | `interval`, `padding` | so many elements free behind so many |
"""

import re
from functools import partial

from ...layouts.accesses import accesses
from ...layouts.errors import LayoutError
from ...layouts.issues import Issues
from ...layouts.padded_shared import PaddedShared
from ...ttgir_text.module import read_module
from ..listing import Listing
from ..memory import (
    DIRECT_LOADS,
    Buffer,
    buffer_bits,
    buffer_shape,
    buffers_of,
    layout_kind,
)
from ..patching import Chip, Edit, Kind, Module, RefusedError, Request, Site, expect

LAYOUTS = ("swizzled", "none", "linear", "padded")
_WIDTHS = (32, 64, 128)
# Matrix units read parts of 16 bytes; the banks of shared memory are 128 bytes wide together.
_PART, _BANKS = 16, 128
_DIRECT = {*DIRECT_LOADS, "ttg.async_copy_global_to_local"}
_ORDER = re.compile(r"order = \[[\d, ]+\]")
_VECTOR = re.compile(r"vec = \d+")
_WIDTH = re.compile(r"swizzlingByteWidth = \d+")


def edits(request: Request, chip: Chip) -> tuple[Edit, ...]:
    """Where products are those of Hopper and later, their operands have forms of their own."""
    kind = request.arguments.get("kind")
    if kind not in LAYOUTS:
        raise RefusedError(f"a layout is one of {', '.join(LAYOUTS)}, found {kind!r}")
    if kind == "swizzled" and request.arguments.get("bytes") not in _WIDTHS:
        raise RefusedError("rows are permuted in 32, 64 or 128 bytes")
    if chip.generation < 9:
        laid = Edit("after:add_pipeline", partial(_in_loops, request))
        # What reads and writes the buffer is settled in the end.
        checks = (Edit("end:make_ttgir", partial(_check_gaps, request)),)
        return (laid, *(checks if kind == "padded" else ()))
    return (Edit("after:add_optimize_descriptor_encoding", partial(_of_operands, request)),)


def _in_loops(request: Request, module: Module, site: Site) -> str:
    """Buffers that loops load ahead into, which products read by way of registers."""
    listing = Listing(module)
    buffers = listing.operations(("ttg.local_alloc",), request.anchor)
    found = [index for index in buffers if not listing[index].operands]
    wanted = site.count("load", request.anchor)
    expect(len(found), wanted, f"buffers of `{request.anchor}` that a loop loads ahead into")
    for index in found:
        extents, bits = buffer_shape(listing, index), buffer_bits(listing, index)
        meaning = partial(_meaning, request, extents, bits)
        buffer = Buffer(listing, meaning)
        buffer.follow(index)
        if request.arguments["kind"] == "padded" and buffer.operations & _DIRECT:
            raise RefusedError("loads that write to LDS directly leave nothing free between rows")
        site.laid_out.add((request.anchor, layout_kind(listing, index)))
    return str(listing)


def _check_gaps(request: Request, module: Module, site: Site) -> None:
    """Refuse gaps behind which rows start where their elements cannot be moved together."""
    gaps = ((request.arguments["interval"], request.arguments["padding"]),)
    try:
        found = accesses(read_module(str(module)), f"hip:{site.chip.arch}")
    except LayoutError as error:
        raise RefusedError(f"its layouts are not known: {error}") from error
    padded = [
        one for one in found if isinstance(one.memory, PaddedShared) and one.memory.gaps == gaps
    ]
    made = [one.made for one in padded if isinstance(one.made, Issues)]
    if all(one.is_aligned for one in made):
        return
    (bits,) = {one.use.bits for one in padded if one.use}
    width = max(one.instruction.width for one in made)
    raise RefusedError(
        f"rows {sum(gaps[0]) * bits // 8} bytes apart are not aligned to the {width} bytes that a "
        f"thread moves at once: leave {width * 8 // bits} elements free behind each row, or a "
        "multiple"
    )


def _meaning(
    request: Request, shape: tuple[int, int], bits: int, old: str, is_transposed: bool
) -> str:
    """The layout of a buffer in Triton's text; the order of its axes stays."""
    found = _ORDER.search(old)
    order = found[0] if found else f"order = {[0, 1] if is_transposed else [1, 0]}"
    given = request.arguments
    if given["kind"] == "padded":
        extents = list(reversed(shape) if is_transposed else shape)
        return (
            f"#ttg.padded_shared<[{given['interval']}:+{given['padding']}] "
            f"{{{order}, shape = {extents}}}>"
        )
    if given["kind"] == "linear":
        offsets = _offsets(request, shape, is_transposed)
        return f"#ttg.shared_linear<{{offset = {offsets}, block = []}}, alignment = 16>"
    found = _VECTOR.search(old)
    vector = found[0] if found else f"vec = {_PART * 8 // bits}"
    phase, phases = 1, 1
    if given["kind"] == "swizzled":
        row = shape[1] * bits // 8
        if row < given["bytes"]:
            raise RefusedError(f"its rows are {row} bytes long")
        # Rows that the banks hold side by side differ by themselves.
        phase, phases = max(1, _BANKS // row), given["bytes"] // _PART
    parts = f"{vector}, perPhase = {phase}, maxPhase = {phases}, {order}"
    return f"#ttg.swizzled_shared<{{{parts}}}>"


def _offsets(request: Request, shape: tuple[int, int], is_transposed: bool) -> list[list[int]]:
    flat = list(request.arguments.get("offsets", ()))
    pairs = [[flat[at], flat[at + 1]] for at in range(0, len(flat) - 1, 2)]
    bits = (shape[0] * shape[1]).bit_length() - 1
    if len(flat) != 2 * bits:
        raise RefusedError(f"a tile of {shape[0]}x{shape[1]} has places of {bits} bits")
    return [pair[::-1] for pair in pairs] if is_transposed else pairs


def _of_operands(request: Request, module: Module, site: Site) -> str:
    """Operands of wgmma and tcgen05, which TMA may load."""
    listing = Listing(module)
    width = request.arguments["bytes"]
    loads = listing.operations(("tt.load", "tt.descriptor_load"), request.anchor)
    expect(len(loads), site.count("load", request.anchor), f"loads of `{request.anchor}`")

    def change(old: str, is_transposed: bool) -> str:
        if not _WIDTH.search(old):
            raise RefusedError("the product does not read it from shared memory")
        return _WIDTH.sub(f"swizzlingByteWidth = {width}", old)

    for load in loads:
        found = list(buffers_of(listing, load))
        if not found:
            raise RefusedError("the product does not read it from shared memory")
        for index in found:
            row = buffer_shape(listing, index)[1] * buffer_bits(listing, index) // 8
            if row < width:
                raise RefusedError(f"its rows are {row} bytes long")
            Buffer(listing, change).follow(index)
    _set_descriptors(listing, loads, width)
    return str(listing)


def _set_descriptors(listing: Listing, loads: list[int], width: int) -> None:
    """TMA writes what it loads as its descriptor says."""
    for load in loads:
        if listing[load].name != "tt.descriptor_load":
            continue
        descriptor = listing[load].operands[0]
        users = [n for n, line in enumerate(listing.lines) if f" {descriptor}[" in line]
        (start,) = (n for n, line in enumerate(listing.lines) if " tt.func public " in line)
        if set(users) - set(loads):
            raise RefusedError(f"the descriptor {descriptor} serves other copies, too")
        pattern = re.compile(rf"({re.escape(descriptor)}: !tt\.tensordesc<[^#]*)(#\w+)")
        declared = pattern.search(listing.lines[start])
        if declared is None:
            raise RefusedError(f"the descriptor {descriptor} is no argument of the kernel")
        meaning = listing.alias(declared[2])
        if f"swizzlingByteWidth = {width}," in meaning:
            continue
        new = listing.define("shared_of", _WIDTH.sub(f"swizzlingByteWidth = {width}", meaning))
        listing.lines[start] = pattern.sub(rf"\g<1>{new}", listing.lines[start])
        for each in users:
            listing.lines[each] = re.sub(
                r"(!tt\.tensordesc<[^#]*)#\w+", rf"\g<1>{new}", listing.lines[each]
            )


SHARED_LAYOUT = Kind(
    name="shared_layout",
    arguments=("kind", "bytes", "offsets", "interval", "padding"),
    edits=edits,
)
