"""Panes as HTML: texts beside each other whose lines name the statements that they share."""

from collections.abc import Sequence

from tile2triton.explaining.page.markup import Html, element, together
from tile2triton.explaining.page.panes import Line, Pane, Part

# Browsers lay out no more blocks than can be seen; a block is so many lines.
BLOCK = 200


def listings(panes: Sequence[Pane], prefix: str) -> Html:
    """All panes of one kernel; ids of what is in them begin with `prefix`."""
    made = [_pane(pane, f"{prefix}-{pane.key}") for pane in panes]
    return element("div", *made, class_="panes")


def program_lines(pane: Pane, prefix: str) -> dict[tuple[str, int], str]:
    """The ids of the lines of a pane of several files, by the names of these and their numbers."""
    return {
        (part.title, line.number): f"{_part_name(f'{prefix}-{pane.key}', index)}-{line.number}"
        for index, part in enumerate(pane.parts)
        for line in part.lines
    }


def line_id(prefix: str, key: str, number: int) -> str:
    """The id of a line of the pane `key`."""
    return f"{prefix}-{key}-{number}"


def _pane(pane: Pane, name: str) -> Html:
    title = element("h4", pane.title, id=f"{name}-title")
    note = element("p", pane.note, class_="note") if pane.note else ""
    parts = [_part(part, name, index) for index, part in enumerate(pane.parts)]
    if not parts:
        return element("div", title, note, class_="pane empty", id=name)
    text = element(
        *("pre", *parts),
        class_="text",
        tabindex=0,
        role="region",
        aria_labelledby=f"{name}-title",
    )
    return element("div", title, note, text, class_="pane", id=name)


def _part(part: Part, name: str, index: int) -> Html:
    prefix = _part_name(name, index)
    has_ids = not name.endswith("-machine")
    title = element("b", f"{part.title}\n", class_="file") if part.title else ""
    blocks = [
        element(
            "span",
            *(_line(line, prefix if has_ids else "") for line in part.lines[start : start + BLOCK]),
            class_="block",
            style=f"--lines:{len(part.lines[start : start + BLOCK])}",
        )
        for start in range(0, len(part.lines), BLOCK)
    ]
    return together(title, *blocks)


def _part_name(name: str, index: int) -> str:
    # Lines of several files would have the same ids.
    return f"{name}-{index}" if index else name


def _line(line: Line, prefix: str) -> Html:
    return element(
        "span",
        f"{line.text}\n",
        id=f"{prefix}-{line.number}" if prefix else False,
        class_="changed" if line.change else False,
        data_n=f"{line.change} {line.number}" if line.change else line.number,
        data_s=" ".join(map(str, line.statements)) if line.statements else False,
    )
