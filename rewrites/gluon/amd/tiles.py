"""How tiles lie: in which lanes they are loaded, and where in shared memory, free of conflicts."""

import ast
from dataclasses import dataclass

from rewrites.gluon.amd.addresses import VECTOR
from rewrites.gluon.amd.chips import Chip
from rewrites.gluon.amd.fetches import Fetch
from rewrites.gluon.errors import UnsuitedError
from rewrites.quote import expr

LANES = 64
# What a wave copies at once, in elements of 16 bits.
WAVE = LANES * VECTOR
# Elements in a row of all 32 banks of gfx942.
BANKS = 64

Bases = list[list[int]]


@dataclass(frozen=True)
class Places:
    """The layout of the lanes that load a tile, and that of its memory, of so many elements."""

    lanes: ast.expr
    memory: ast.expr
    elements: int


def places_of(fetch: Fetch, chip: Chip, warps: int, height: int) -> Places:
    """Where a tile of a ring lies, for instructions of `height` rows. Raises UnsuitedError."""
    rows, columns = fetch.tile.shape
    if columns < VECTOR or columns > WAVE:
        raise UnsuitedError(f"`{fetch.name}` has rows of {columns} elements")
    if rows * columns < WAVE * warps:
        raise UnsuitedError(f"`{fetch.name}` is smaller than what {warps} warps copy at once")
    if chip.direct:
        return _direct(fetch, warps, height)
    if fetch.is_summed_along_rows:
        return _as_it_lies(rows, columns, warps)
    return _turned(rows, columns, warps, min(fetch.width, rows))


def _direct(fetch: Fetch, warps: int, height: int) -> Places:
    """A wave's lanes write 1024 bytes side by side, and a gap follows.

    Which rows these are is chosen so that those that lanes read at once begin in different ones of
    the 64 banks that reads see.
    """
    rows, columns = fetch.tile.shape
    bits = _bits(rows)
    count = len(_bits(WAVE // columns))
    if fetch.is_summed_along_rows:
        # Lanes have rows of their own: neighbours fill all banks, and of the others half at most
        # are read at once.
        gap = WAVE // 2 // height
        near = bits[: len(_bits(2 * BANKS // columns))]
        far = [one for one in bits if one <= height and one not in near]
        together = sorted([*near, *far[max(0, len(far) - count + len(near)) :]])
    else:
        # Lanes exchange what they have read: a few rows are read at once.
        gap = height
        read = {1, 2, fetch.width} if height == 16 else {1, 2}
        apart = [one for one in bits if one not in read]
        together = sorted([*apart, *(one for one in bits if one in read)][:count])
    order = [*together, *(one for one in bits if one not in together)]
    bases = [[0, one] for one in _bits(columns)] + [[one, 0] for one in order]
    first = len(_bits(VECTOR))
    last = first + len(_bits(LANES))
    behind = last + len(_bits(warps))
    own = bases[:first] + bases[behind:]
    made = _linear(own, bases[first:last], bases[last:behind], [rows, columns])
    memory = expr(
        "gl.PaddedSharedLayout(gaps, bases, [], shape)",
        gaps=_tree([[WAVE, gap]]),
        bases=_tree(bases),
        shape=_tree([rows, columns]),
    )
    return Places(made, memory, rows * columns // WAVE * (WAVE + gap))


def _as_it_lies(rows: int, columns: int, warps: int) -> Places:
    """Rows in memory as in the tensor, with pieces of 16 bytes exchanged by XOR."""
    across = columns // VECTOR
    lanes = expr(
        "gl.BlockedLayout(each, lanes, warps, order)",
        each=_tree([1, VECTOR]),
        lanes=_tree([LANES // across, across]),
        warps=_tree([warps, 1]),
        order=_tree([1, 0]),
    )
    per_phase = max(1, BANKS // columns)
    memory = expr(
        "gl.SwizzledSharedLayout(vector, per_phase, phases, order)",
        vector=_tree(VECTOR),
        per_phase=_tree(per_phase),
        phases=_tree(max(1, min(across, LANES // 4 // per_phase))),
        order=_tree([1, 0]),
    )
    return Places(lanes, memory, rows * columns)


def _turned(rows: int, columns: int, warps: int, width: int) -> Places:
    """Lanes have blocks of `width` rows at most, and store them as columns of so many elements.

    Columns that stand 8 apart lie side by side, which is how lanes store them; neighbours, which
    instructions read together, begin in different banks by XOR.
    """
    height = min(width, rows * columns // (WAVE * warps))
    steps = [[one, 0] for one in _bits(rows)]
    near = [[0, one] for one in _bits(VECTOR)]
    far = [[0, one] for one in _bits(columns)[len(near) :]]
    unit = len(_bits(width))
    own = len(_bits(height))
    spread = [*steps[own:unit], *far, *steps[unit:]]
    last = len(_bits(LANES))
    behind = last + len(_bits(warps))
    lanes = _linear(
        [*near, *steps[:own], *spread[behind:]], spread[:last], spread[last:behind], [rows, columns]
    )
    # Of 8 bytes, 16 columns are read at once, and of 16 bytes, 8; all banks are so many.
    first = 1 if width < VECTOR else 0
    filled = len(near) + first
    spread = [*far, *steps[unit : unit + max(0, filled - len(far))]]
    others = [*spread[first:], *[[0, 0]] * len(near)]
    moved = [[row, one + column] for (_, one), (row, column) in zip(near, others, strict=False)]
    rest = steps[unit + max(0, filled - len(far)) :]
    memory = expr(
        "gl.SharedLinearLayout(bases)", bases=_tree([*steps[:unit], *spread, *moved, *rest])
    )
    return Places(lanes, memory, rows * columns)


def _linear(own: Bases, lanes: Bases, warps: Bases, shape: list[int]) -> ast.expr:
    """Of a tile with one more dimension: Triton 3.6 copies from blocked layouts and slices only."""
    own, lanes, warps = ([[0, *one] for one in bases] for bases in (own, lanes, warps))
    return expr(
        "gl.SliceLayout(0, gl.DistributedLinearLayout(own, lanes, warps, [], shape))",
        own=_tree(own),
        lanes=_tree(lanes),
        warps=_tree(warps),
        shape=_tree([1, *shape]),
    )


def _bits(size: int) -> list[int]:
    return [1 << bit for bit in range(size.bit_length() - 1)]


def _tree(value: object) -> ast.expr:
    return expr(repr(value))
