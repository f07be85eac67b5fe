"""Pictures of layouts as SVG: who owns each element, and which banks hold it."""

from collections import defaultdict
from collections.abc import Iterator
from math import prod

import numpy as np

from .encoding import Encoding
from .errors import layout_error
from .linear import Indices, LinearLayout
from .padded_shared import PaddedShared
from .svg import Cell, Grid

_WORD_BITS = 32
_PIECE_BITS = 128
MOST_ROWS, MOST_COLUMNS = 32, 32


def owners_picture(
    encoding: Encoding,
    shape: tuple[int, ...],
    title: str = "",
    by: str = "lane",
    most: tuple[int, int] = (MOST_ROWS, MOST_COLUMNS),
) -> str:
    """SVG of a tensor's elements with warp, lane and register, coloured `by` one of these.

    Of larger tensors the first rows and columns are shown, and of several matrices the first.
    """
    layout = encoding.linear(shape)
    if not layout.bases("lane"):
        raise layout_error(
            "T2T932", "only layouts of registers have owners", type(encoding).__name__
        )
    if by not in ("warp", "lane", "register"):
        raise layout_error("T2T932", "owners are coloured by warp, lane or register", f"by={by!r}")
    rows, columns = _shown(shape, most)
    owners = _owners(layout)
    cells = []
    for row in range(rows):
        for column in range(columns):
            warp, lane, register = owners[row, column][0]
            others = len(owners[row, column]) - 1
            colour = {"warp": warp, "lane": lane, "register": register}[by]
            label = f"W{warp} L{lane} R{register}" + (f" +{others}" if others else "")
            story = f"row {row}, column {column}: warp {warp}, lane {lane}, register {register}" + (
                f", and {others} others" if others else ""
            )
            cells.append(Cell(row, column, colour, label, story))
    count = layout.input_size(by)
    return Grid(
        title=title or f"Owners of the elements of {_times(shape)}",
        description=f"W warp, L lane, R register; + owners more. {_extent(shape, rows, columns)}",
        rows=[str(row) for row in range(rows)],
        columns=[str(column) for column in range(columns)],
        cells=cells,
        legend=[f"{by} {number}" for number in range(count)],
    ).svg()


def banks_picture(
    encoding: Encoding,
    shape: tuple[int, ...],
    bits: int,
    banks: int = 32,
    title: str = "",
    most: tuple[int, int] = (MOST_ROWS, MOST_COLUMNS),
) -> str:
    """SVG of a buffer's elements of `bits` with the banks that hold them.

    Elements of one row that stay together, of 16 bytes at most, are one cell.
    """
    offsets = _offsets(encoding, shape)
    together = _together(offsets, bits)
    rows, groups = min(shape_rows(shape), most[0]), min(offsets.shape[1] // together, most[1])
    cells = [
        _bank_cell(row, group, int(offsets[row, group * together]), together, bits, banks)
        for row in range(rows)
        for group in range(groups)
    ]
    words = max(1, together * bits // _WORD_BITS)
    return Grid(
        title=title or f"Banks of the elements of {_times(shape)}, {bits} bits each",
        description=(
            f"Numbers are banks of 4 bytes, of {banks}. {_extent(shape, rows, groups * together)}"
        ),
        rows=[str(row) for row in range(rows)],
        columns=[_range(group * together, together) for group in range(groups)],
        cells=cells,
        legend=[f"bank {_range(first, words)}" for first in range(0, banks, words)],
    ).svg()


def _bank_cell(row: int, group: int, offset: int, together: int, bits: int, banks: int) -> Cell:
    words = max(1, together * bits // _WORD_BITS)
    bank = offset * bits // _WORD_BITS % banks
    label = _range(bank, words)
    story = (
        f"row {row}, columns {_range(group * together, together)}: "
        f"byte {offset * bits // 8}, banks {label}"
    )
    return Cell(row, group, bank // words, label, story)


def shape_rows(shape: tuple[int, ...]) -> int:
    """The rows of a matrix; a vector is one row."""
    return shape[-2] if len(shape) > 1 else 1


def _shown(shape: tuple[int, ...], most: tuple[int, int]) -> tuple[int, int]:
    return min(shape_rows(shape), most[0]), min(shape[-1], most[1])


def _owners(layout: LinearLayout) -> dict[tuple[int, int], list[tuple[int, int, int]]]:
    """For each element of the first matrix its warps, lanes and registers, in order."""
    found: dict[tuple[int, int], list[tuple[int, int, int]]] = defaultdict(list)
    names = ("warp", "lane", "register")
    axes = np.ix_(*(np.arange(layout.input_size(name)) for name in names))
    images = layout(**dict(zip(names, axes, strict=True)))
    matrix = sum(images[:-2], np.zeros_like(images[-1])) == 0
    rows = images[-2] if len(images) > 1 else np.zeros_like(images[-1])
    for warp, lane, register in np.argwhere(matrix):
        place = int(rows[warp, lane, register]), int(images[-1][warp, lane, register])
        found[place].append((int(warp), int(lane), int(register)))
    return found


def _offsets(encoding: Encoding, shape: tuple[int, ...]) -> Indices:
    """The offset of each element of the first matrix, gaps counted."""
    layout = encoding.linear(shape)
    if not layout.bases("offset"):
        raise layout_error(
            "T2T932", "only layouts of shared memory have banks", type(encoding).__name__
        )
    numbers = np.arange(layout.input_size("offset"))
    coordinates = layout(offset=numbers)
    places = np.zeros(prod(shape), dtype=np.int64)
    flat = np.ravel_multi_index(coordinates, shape)
    # Where several offsets hold one element, the lowest one stays.
    places[flat[::-1]] = numbers[::-1]
    if isinstance(encoding, PaddedShared):
        places = encoding.padded(places)
    return places.reshape(shape).reshape(-1, shape[-1])[: shape_rows(shape)]


def _together(offsets: Indices, bits: int) -> int:
    """How many neighbours of each row are neighbours in memory, in aligned groups."""
    best = 1
    for size in _doublings(min(offsets.shape[1], _PIECE_BITS // bits)):
        groups = offsets.reshape(offsets.shape[0], -1, size)
        if (groups - groups[..., :1] == np.arange(size)).all():
            best = size
    return best


def _doublings(most: int) -> Iterator[int]:
    size = 1
    while size <= most:
        yield size
        size *= 2


def _range(first: int, count: int) -> str:
    return str(first) if count == 1 else f"{first}-{first + count - 1}"


def _times(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))


def _extent(shape: tuple[int, ...], rows: int, columns: int) -> str:
    if (rows, columns) == (shape_rows(shape), shape[-1]):
        return "All elements."
    return f"The first {rows} rows and {columns} columns."
