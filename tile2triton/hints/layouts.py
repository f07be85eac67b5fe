"""Layouts of shared tiles that T.annotate_layout gives: what each is, and which target has it."""

import ast
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from rewrites.dtypes import bits
from rewrites.environment import lengths
from rewrites.facts import Argument, Claim, Facts, HintRequest, Tile, WrittenHint
from rewrites.hint_notes import outcome
from rewrites.tree import names_in
from tile2triton.hints.anchors import product_calls
from tile2triton.patch_targets import refusal
from tile2triton.targets import target

# Makers of layouts that permute rows of so many bytes, as Triton does where matrix units read.
_SWIZZLES = {
    "make_half_bank_swizzled_layout": 64,
    "make_quarter_bank_swizzled_layout": 32,
}
_PLAIN = "make_linear_layout"
# The fewest bytes that an asynchronous copy moves.
_LEAST_BYTES = 4
# Tiles above it are not tried element by element.
_MOST_ELEMENTS = 1 << 16


@dataclass(frozen=True)
class Shown:
    """What a layout is: a kind that `shared_layout` knows, with its arguments, or "" and why."""

    kind: str
    arguments: tuple[tuple[str, Argument], ...] = ()
    reason: str = ""
    # The elements of a part, the phases and their rows, where a function says that rows are
    # permuted so, and no maker that each target has its own of.
    pattern: tuple[int, ...] = ()


def layout_requests(
    hint: WrittenHint, blocks: list[int], kernels: list[ast.FunctionDef], facts: Facts
) -> list[HintRequest]:
    """Requests of patches; what needs none, or cannot be, is set down."""
    name = str(hint.arguments["buffer"])
    requests: list[HintRequest] = []
    for block in blocks:
        how, detail, shown = _settled(hint, name, kernels[block], facts)
        if how != "patch" or shown is None:
            claim = Claim("swizzled", shown.pattern) if how == "native" and shown else None
            outcome(facts, hint.construct, hint.line, hint.filename, how, detail, claim, (name,))
            continue
        requests.append(
            HintRequest(
                "shared_layout",
                hint.construct,
                hint.line,
                block,
                name,
                (("kind", shown.kind), *shown.arguments),
                hint.filename,
                (name,),
            )
        )
    return requests


def _settled(
    hint: WrittenHint, name: str, kernel: ast.FunctionDef, facts: Facts
) -> tuple[str, str, Shown | None]:
    tile = facts.tiles.get(name)
    if name in facts.tensors:
        return "none", "a tensor keeps its rows one after the other, for other kernels' sake", None
    if tile is None or tile.scope == "fragment":
        return "none", "which thread holds which element of a tile is Triton's to choose", None
    if not _is_multiplied(kernel, name):
        said = f"no product reads `{name}` itself; in registers or shared, it lies as Triton likes"
        return "none", said, None
    shown = recognised(hint.arguments["layout"], tile.shape, bits(tile.dtype))
    if not shown.kind:
        return "none", shown.reason, None
    if shown.kind == "swizzled" and not shown.arguments:
        if target(facts.target).backend == "cuda":
            return "native", "Triton swizzles what matrix units read by itself", shown
        if not shown.pattern:
            return "native", "Triton swizzles or pads what matrix units read by itself", shown
    reason = refusal("shared_layout", target(facts.target), {"kind": shown.kind})
    reason = reason or _too_short(shown, tile) or _torn(shown, bits(tile.dtype)) or _odd_gap(shown)
    return ("none", reason, None) if reason else ("patch", "", shown)


def _too_short(shown: Shown, tile: Tile) -> str:
    """Why rows cannot be permuted in so many bytes; "" where they can."""
    row = lengths(tile)[-1] * bits(tile.dtype) // 8
    wanted = dict(shown.arguments).get("bytes", 0)
    return f"its rows are {row} bytes long" if isinstance(wanted, int) and row < wanted else ""


def _torn(shown: Shown, width: int) -> str:
    """Why no copy can write elements of `width` bits where they are to lie; "" where one can."""
    offsets = dict(shown.arguments).get("offsets", ())
    assert isinstance(offsets, tuple)
    group = max(1, _LEAST_BYTES * 8 // width)
    columns, wanted = offsets[1::2], [1 << bit for bit in range(group.bit_length() - 1)]
    first, rest = columns[: len(wanted)], columns[len(wanted) :]
    is_kept = list(first) == wanted and not any(int(column) % group for column in rest)
    if shown.kind != "linear" or is_kept:
        return ""
    return (
        f"asynchronous copies move {_LEAST_BYTES} bytes of a row at once, best 16: neighbours in "
        f"groups of {group} are to stay together, best of {128 // width}"
    )


def _odd_gap(shown: Shown) -> str:
    """Why Triton has no such gaps behind rows; "" where it has."""
    padding = dict(shown.arguments).get("padding", 0)
    if not isinstance(padding, int) or not padding & (padding - 1):
        return ""
    most = 1 << padding.bit_length()
    return f"Triton leaves 1, 2, 4, 8, … elements free behind a row: {most}, not {padding}"


def _is_multiplied(kernel: ast.FunctionDef, name: str) -> bool:
    calls = product_calls(kernel)
    return any(name in names_in(operand) for call in calls for operand in call.args[:2])


def recognised(layout: Any, shape: Sequence[int], width: int) -> Shown:
    """What a layout of elements of `width` bits is, by who made it or what its function gives."""
    maker = str(getattr(layout, "maker", "")).partition("(")[0]
    function = layout if not hasattr(layout, "forward_fn") else layout.forward_fn
    if callable(function):
        return _of_function(function, tuple(shape), width)
    if maker in _SWIZZLES:
        return Shown("swizzled", (("bytes", _SWIZZLES[maker]),))
    if maker == _PLAIN:
        return Shown("none")
    if "swizzle" in maker:
        return Shown("swizzled")
    said = f"`{maker}`" if maker else repr(layout)
    return Shown("", reason=f"{said} is no layout of a shared tile that is known here")


def _of_function(function: Callable[..., Any], shape: tuple[int, ...], width: int) -> Shown:
    """A layout by the place of each element: rows in a row, padded ones, or exclusive ors."""
    if any(extent & (extent - 1) for extent in shape) or math.prod(shape) > _MOST_ELEMENTS:
        return Shown("", reason="functions of layouts are tried for extents that are powers of two")
    try:
        places = {
            index: _place(function(*index), shape)
            for index in itertools.product(*map(range, shape))
        }
    except Exception as error:
        return Shown("", reason=f"its function gives no number: {error}")
    plain = {index: at for at, index in enumerate(places)}
    if places == plain:
        return Shown("none")
    if len(shape) == 2 and all(
        _swizzled(i[0], i[1], shape[1], width) == at for i, at in places.items()
    ):
        return Shown("swizzled", pattern=_pattern(shape[1], width))
    padded = _padding(places, shape)
    if padded is not None:
        return padded
    return _exclusive_ors(places, shape)


def _swizzled(row: int, column: int, columns: int, width: int) -> int:
    """A place in Triton's own pattern: parts of 16 bytes change places in rows of 128 bytes."""
    part, phases, rows = _pattern(columns, width)
    return row * columns + (column ^ (row // rows % phases * part))


def _pattern(columns: int, width: int) -> tuple[int, int, int]:
    """The elements of a part, the phases, and the rows of a phase."""
    part = 128 // width
    rows = max(1, 1024 // (columns * width))
    phases = min(8 // rows, columns // part) if rows <= 8 else 1
    return part, max(1, phases), rows


def _place(made: Any, shape: tuple[int, ...]) -> int:
    """An element's place in memory, from a number, or from indices of the tile."""
    parts = list(made) if isinstance(made, (tuple, list)) else [made]
    if len(parts) == 1:
        return int(parts[0])
    place = 0
    for part, extent in zip(parts, shape, strict=True):
        place = place * extent + int(part)
    return place


def _padding(places: dict[tuple[int, ...], int], shape: tuple[int, ...]) -> Shown | None:
    """Rows that lie further apart than they are long."""
    width = shape[-1]
    rows = [place - index[-1] for index, place in places.items()]
    starts = [row for at, row in enumerate(rows) if at % width == 0]
    if any(row != starts[at // width] for at, row in enumerate(rows)) or len(starts) < 2:
        return None
    step = starts[1] - starts[0]
    if step <= width or any(start != at * step for at, start in enumerate(starts)):
        return None
    return Shown("padded", (("interval", width), ("padding", step - width)))


def _exclusive_ors(places: dict[tuple[int, ...], int], shape: tuple[int, ...]) -> Shown:
    """Places whose bits are exclusive ors of bits of the indices: what Triton calls linear."""
    reason = "its places are neither padded rows nor exclusive ors of bits of the indices"
    count = math.prod(shape)
    indices = {place: index for index, place in places.items()}
    if sorted(indices) != list(range(count)):
        return Shown("", reason="its function does not give each element a place of its own")
    bases = [indices[1 << bit] for bit in range(count.bit_length() - 1)]
    for place, index in indices.items():
        made = (0,) * len(shape)
        for bit, basis in enumerate(bases):
            if place >> bit & 1:
                made = tuple(a ^ b for a, b in zip(made, basis, strict=True))
        if made != index:
            return Shown("", reason=reason)
    return Shown("linear", (("offsets", tuple(itertools.chain(*bases))),))
