"""What compiled code must show of a hint that is said to be applied, and whether it does."""

import re
from collections.abc import Sequence

from rewrites.facts import Claim
from tile2triton.explaining.tiles import Move, Product

# What a thread moves at most in one instruction before Blackwell.
_WIDEST = 16
_ASYNCHRONOUS = ("cp.async", "TMA load")
_VECTOR = re.compile(r"(?:ld|st)\.global\S*?(?:\.v(\d))?\.b(\d+)$")
_COPY = re.compile(r"cp\.async\S* (\d+) bytes$")


def contradiction(claim: Claim, rows: Sequence[Move | Product]) -> str:
    """What the code shows in the place of what is claimed; "" where it shows that, or nothing."""
    moves = [row for row in rows if isinstance(row, Move)]
    products = [row for row in rows if isinstance(row, Product)]
    match claim.kind:
        case "warps":
            return _other_warps(claim.numbers, products)
        case "bytes":
            return _other_width(claim.numbers[0], moves)
        case "asynchronous":
            return _synchronous(moves)
        case "swizzled":
            return _otherwise(claim.numbers, moves)
    raise AssertionError(f"no code is known to show that something is {claim.kind}")


def _other_warps(wanted: tuple[int, ...], products: list[Product]) -> str:
    for row in products:
        if row.warps and row.warps != wanted:
            made, asked = (" by ".join(map(str, warps)) for warps in (row.warps, wanted))
            return f"the warps compute {made} parts of the product, not {asked}"
    return ""


def _other_width(wanted: int, moves: list[Move]) -> str:
    for row in moves:
        widths = [width for name in row.instructions if (width := _width(name))]
        most = max(widths, default=wanted)
        if most < wanted:
            return (
                f"a thread moves {most} bytes at once: no more are there, or proved to be aligned"
            )
        if most > wanted and wanted < _WIDEST:
            return f"a thread moves {most} bytes at once, not {wanted}"
    return ""


def _width(instruction: str) -> int:
    """The bytes that an instruction moves for a thread; 0 where none does."""
    if found := _COPY.match(instruction):
        return int(found[1])
    found = _VECTOR.match(instruction)
    return int(found[1] or 1) * int(found[2]) // 8 if found else 0


def _synchronous(moves: list[Move]) -> str:
    for row in moves:
        names = list(row.instructions)
        if names and not any(name.startswith(_ASYNCHRONOUS) for name in names):
            return f"it passes by registers, by {', '.join(names)}"
    return ""


def _otherwise(pattern: tuple[int, ...], moves: list[Move]) -> str:
    """Rows that are not permuted, or in another pattern where one is given."""
    for row in moves:
        if row.buffers and row.layout == "not swizzled":
            return "its rows lie one after the other"
        if row.buffers and pattern and row.layout not in _swizzles(*pattern):
            return f"it lies otherwise: {row.layout}"
    return ""


def _swizzles(part: int, phases: int, rows: int) -> tuple[str, str]:
    """The layout as mma.sync and as wgmma and TMA have it; `part` elements are 16 bytes."""
    return (
        f"swizzled, {part} elements, {phases} phases of {rows} rows",
        f"swizzled by {phases * 16} bytes",
    )
