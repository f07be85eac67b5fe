"""The texts that stand beside each other, line by line with what they have in common.

That is statements of the emitted module, each known by its first line there.
"""

import ast
import linecache
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tile2triton.explaining.machine_text import lines_of_origin, without_debug_sections
from tile2triton.explaining.origins import Place, statement_lines
from tile2triton.explaining.page.ttgir_lines import ttgir_lines


@dataclass(frozen=True)
class Line:
    """A line by its number in its file, and the statements that it belongs to.

    `change` is a sign where another text lacks the line.
    """

    number: int
    text: str
    statements: tuple[int, ...] = ()
    change: str = ""


@dataclass(frozen=True)
class Part:
    """Lines of one file; `title` names it where a pane has several."""

    title: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Pane:
    """One text. `note` stands above it, or in place of it where there are no parts."""

    key: str
    title: str
    note: str
    parts: tuple[Part, ...]


def program_pane(origins: Mapping[int, Place], text: str, filename: str) -> Pane:
    """What the user wrote: all that stands around the lines that `text` was made of."""
    statements = statement_lines(text)
    made: dict[str, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    for line, place in origins.items():
        made[place.filename][place.line].add(statements.get(line, line))
    # The kernel's own file is the first.
    files = sorted(made, key=lambda name: (name != filename, name))
    parts = tuple(_excerpt(name, made[name]) for name in files)
    lost = [part.title for part in parts if not part.lines]
    note = f"The text of {', '.join(lost)} is not to be had." if lost else ""
    return Pane("program", "Program", note, tuple(part for part in parts if part.lines))


def triton_pane(text: str, linked: Iterable[int]) -> Pane:
    """The emitted module, where the statements `linked` are those that other texts have, too."""
    statements, known = statement_lines(text), frozenset(linked)
    lines = (
        Line(number, line, _some(statements.get(number, 0), known))
        for number, line in enumerate(text.splitlines(), 1)
    )
    return Pane("triton", "Emitted Triton", "", (Part("", tuple(lines)),))


def ttgir_pane(key: str, title: str, listing: str, path: str, text: str) -> Pane:
    """What Triton makes of the module `text` in the file `path`."""
    statements = statement_lines(text)
    lines = (
        Line(number, line, _some(statements.get(at, at)))
        for number, line, at in ttgir_lines(listing, path)
    )
    return Pane(key, title, "Locations are left out.", (Part("", tuple(lines)),))


def machine_pane(title: str, listing: str, path: str, text: str) -> Pane:
    """The machine code of the module `text` in the file `path`."""
    statements = statement_lines(text)
    places = list(lines_of_origin(listing, path))
    lines = tuple(
        Line(number, line, _some(statements.get(places[number - 1], 0)))
        for number, line in without_debug_sections(listing)
    )
    return Pane("machine", title, "What debuggers read is left out.", (Part("", lines),))


def _some(statement: int, known: frozenset[int] | None = None) -> tuple[int, ...]:
    return (statement,) if statement and (known is None or statement in known) else ()


def _excerpt(filename: str, made: Mapping[int, set[int]]) -> Part:
    title = os.path.basename(filename)
    written = linecache.getlines(filename)
    if not written:
        return Part(title, ())
    source = "".join(written)
    first = statement_lines(source)
    found: dict[int, set[int]] = defaultdict(set)
    for line, statements in made.items():
        found[first.get(line, line)] |= statements
    return Part(
        title,
        tuple(
            Line(number, written[number - 1].rstrip("\n"), tuple(sorted(found.get(at, ()))))
            for number in _around(source, made)
            for at in (first.get(number, number),)
        ),
    )


def _around(source: str, lines: Iterable[int]) -> Iterator[int]:
    """The lines of those statements of a file that have any of `lines`, in order."""
    wanted = set(lines)
    for node in ast.parse(source).body:
        decorators: list[ast.expr] = getattr(node, "decorator_list", [])
        start = min([node.lineno, *(one.lineno for one in decorators)])
        extent = range(start, (node.end_lineno or node.lineno) + 1)
        if not wanted.isdisjoint(extent):
            yield from extent
