"""The facts of a kernel as tables: resources, moves, products, hints and patches."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tile2triton.explaining.hints import Hint, counted, kept, warps_said
from tile2triton.explaining.page.listings import line_id
from tile2triton.explaining.page.markup import Html, element, together
from tile2triton.explaining.printed import HOW, shape_said, size_said
from tile2triton.explaining.report import Explained
from tile2triton.explaining.specialized_rows import HEADS, specialized_tables
from tile2triton.explaining.tiles import Move, Product
from tile2triton.patch_metadata import PatchMetadata

_MOVES = ("what", "line of the Triton", "elements", "bytes", "instructions", "where it is kept")
_PRODUCTS = ("product", "line of the Triton", "elements", "instructions", "warps")
_HINTS = ("hint", "line", "how", "why", "in the compiled code")


def fact_tables(
    one: Explained, prefix: str, written: Mapping[tuple[str, int], str]
) -> Iterator[Html]:
    """What the report for people says; `written` are the ids of the lines of the program."""
    yield table("Resources", ("what", "figure"), _resources(one))
    yield table("Instructions", ("instruction", "how many"), _figures(one.instructions.items()))
    if one.specialized:
        made = specialized_tables(one.specialized, one.options["num_warps"])
        for (title, rows), head in zip(made, HEADS, strict=True):
            yield table(title[0].upper() + title[1:], head, rows)
    yield table("Moves", _MOVES, [_move(move, prefix) for move in one.tiles.moves])
    yield table(
        "Products", _PRODUCTS, [_product(product, prefix) for product in one.tiles.products]
    )
    yield table("Hints", _HINTS, [_hint(hint, written) for hint in one.hints])


def patch_tables(metadata: PatchMetadata) -> Iterator[Html]:
    """What became of patches, and what is in the machine code without and with them."""
    rows = [
        (
            one.name,
            ", ".join(f"{key}={value}" for key, value in one.arguments.items()),
            one.construct,
            "applied" if one.applied else f"not applied: {one.reason}",
        )
        for one in metadata.patches
    ]
    yield table("Patches", ("patch", "arguments", "hint", "what became of it"), rows)
    head = ("in the machine code", "without patches", "with patches")
    changed = sorted(metadata.changed.items())
    figures = [(name, str(old), str(new)) for name, (old, new) in changed]
    yield table("What patches changed", head, figures)


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> Html:
    """A table whose rows begin with their names; nothing where it has no rows."""
    if not rows:
        return Html("")
    columns = [element("th", name, scope="col") for name in head]
    lines = [
        element(
            "tr", element("th", row[0], scope="row"), *(element("td", cell) for cell in row[1:])
        )
        for row in rows
    ]
    made = element(
        "table",
        element("caption", title),
        element("thead", element("tr", *columns)),
        element("tbody", *lines),
    )
    return element("div", made, class_="table")


def link(text: str, name: str) -> Html:
    """A link to what has that id on this page."""
    return element("a", text, href=f"#{name}")


def _resources(one: Explained) -> list[tuple[str, str]]:
    memory = f"{one.shared_memory / 1024:.1f} of {one.shared_limit / 1024:.0f} KiB"
    return [
        ("target", f"{one.target} ({one.label})"),
        *_figures(one.options.items()),
        ("registers of a thread", str(one.registers)),
        ("of these spilled", str(one.spills)),
        ("shared memory", memory),
    ]


def _figures(figures: Iterable[tuple[str, int]]) -> list[tuple[str, str]]:
    return [(name, str(figure)) for name, figure in figures]


def _move(move: Move, prefix: str) -> tuple[str, ...]:
    way = f"{move.variable} from {move.tensor}" if move.variable else f"to {move.tensor}"
    said = (shape_said(move), size_said(move), counted(move.instructions), kept(move))
    return f"{move.kind} {way}", _line(move.line, prefix), *said


def _product(product: Product, prefix: str) -> tuple[str, ...]:
    said = (shape_said(product), counted(product.instructions), warps_said(product))
    return product.variable or "-", _line(product.line, prefix), *said


def _line(number: int, prefix: str) -> str:
    return link(str(number), line_id(prefix, "triton", number)) if number else "-"


def _hint(hint: Hint, written: Mapping[tuple[str, int], str]) -> tuple[str, ...]:
    place = written.get((os.path.basename(hint.filename), hint.line))
    line = link(str(hint.line), place) if place else str(hint.line)
    parts = [element("div", f"{key}: {said}") for key, said in hint.evidence.items()]
    how = element("span", HOW[hint.how], class_=f"how {hint.how}")
    return element("code", hint.construct), line, how, hint.detail, together(*parts)
