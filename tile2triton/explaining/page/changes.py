"""Which lines of two TTGIR texts differ, whatever their values are called."""

import re
from collections.abc import Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from tile2triton.explaining.page.panes import Line, Pane, Part

_VALUE = re.compile(r"%[\w$.-]+(?:[#:]\d+)?")
# What the name of a patched kernel ends with.
_VARIANT = re.compile(r"__[0-9a-f]{8}(?=\()")
OLD, NEW = "-", "+"
NOTE = f" Patches change lines with {OLD} or {NEW}."


def compared(stock: Pane, patched: Pane) -> tuple[Pane, Pane]:
    """The panes with lines marked that stand in only one of them."""
    old, new = (_lines(pane) for pane in (stock, patched))
    matcher = SequenceMatcher(None, _without_names(old), _without_names(new), autojunk=False)
    blocks = matcher.get_matching_blocks()
    kept_old = {block.a + index for block in blocks for index in range(block.size)}
    kept_new = {block.b + index for block in blocks for index in range(block.size)}
    return _marked(stock, old, kept_old, OLD), _marked(patched, new, kept_new, NEW)


def _lines(pane: Pane) -> list[Line]:
    return [line for part in pane.parts for line in part.lines]


def _without_names(lines: Sequence[Line]) -> list[str]:
    # One operation more gives other numbers to all that follow it.
    return [_VARIANT.sub("", _VALUE.sub("%", line.text)) for line in lines]


def _marked(pane: Pane, lines: Sequence[Line], kept: set[int], sign: str) -> Pane:
    marked = tuple(
        line if index in kept else replace(line, change=sign) for index, line in enumerate(lines)
    )
    return replace(pane, note=pane.note + NOTE, parts=(Part("", marked),))
