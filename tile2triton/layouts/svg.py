"""Grids as SVG text: cells with colours, labels and what they say when one points at them."""

import colorsys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

_CELL_HEIGHT = 22
_CHARACTER = 7
_MARGIN = 8
_FONT = 11


@dataclass(frozen=True)
class Cell:
    """One rectangle: its place in the grid, the number of its colour, its label and its story."""

    row: int
    column: int
    colour: int
    label: str
    story: str


@dataclass(frozen=True)
class Grid:
    """Cells between the names of rows and columns; `legend` names each colour."""

    title: str
    description: str
    rows: Sequence[str]
    columns: Sequence[str]
    cells: Sequence[Cell]
    legend: Sequence[str]

    def svg(self) -> str:
        """The picture: the same text for the same grid."""
        return "\n".join([*self._head(), *self._axes(), *self._body(), *self._legend(), "</svg>"])

    @property
    def _cell_width(self) -> int:
        labels = [cell.label for cell in self.cells] + list(self.columns)
        return _CHARACTER * max(map(len, labels), default=1) + 6

    @property
    def _left(self) -> int:
        return _MARGIN + _CHARACTER * max(map(len, self.rows), default=1) + 6

    @property
    def _top(self) -> int:
        # The title and the description have a line each.
        return _MARGIN + 3 * _CELL_HEIGHT

    @property
    def _entry_width(self) -> int:
        return _CELL_HEIGHT + _CHARACTER * (max(map(len, self.legend), default=1) + 1)

    @property
    def _width(self) -> int:
        words = max(len(self.title), len(self.description))
        return max(
            self._left + len(self.columns) * self._cell_width + _MARGIN,
            2 * _MARGIN + words * _CHARACTER,
        )

    @property
    def _bottom(self) -> int:
        return self._top + len(self.rows) * _CELL_HEIGHT + _MARGIN

    def _head(self) -> Iterable[str]:
        entries = max(1, (self._width - 2 * _MARGIN) // self._entry_width)
        lines = -(-len(self.legend) // entries)
        height = self._bottom + lines * _CELL_HEIGHT + _MARGIN
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self._width}" height="{height}" '
            f'viewBox="0 0 {self._width} {height}" role="img" '
            f'aria-label="{escape(self.title)}. {escape(self.description)}" '
            f'font-family="monospace" font-size="{_FONT}" fill="#000000">'
        )
        yield f"<title>{escape(self.title)}</title>"
        yield f"<desc>{escape(self.description)}</desc>"
        yield f'<rect width="{self._width}" height="{height}" fill="#ffffff"/>'
        yield _text(_MARGIN, _MARGIN + _FONT, self.title, ' font-weight="bold"')
        yield _text(_MARGIN, _MARGIN + _CELL_HEIGHT + _FONT, self.description)

    def _axes(self) -> Iterable[str]:
        for number, name in enumerate(self.columns):
            at = self._left + number * self._cell_width + self._cell_width // 2
            yield _text(at, self._top - 6, name, ' text-anchor="middle"')
        for number, name in enumerate(self.rows):
            at = self._top + number * _CELL_HEIGHT + 15
            yield _text(self._left - 4, at, name, ' text-anchor="end"')

    def _body(self) -> Iterable[str]:
        width = self._cell_width
        for cell in self.cells:
            x, y = self._left + cell.column * width, self._top + cell.row * _CELL_HEIGHT
            label = _text(x + width // 2, y + 15, cell.label, ' text-anchor="middle"')
            yield (
                f'<g class="cell"><title>{escape(cell.story)}</title>'
                f'<rect x="{x}" y="{y}" width="{width}" height="{_CELL_HEIGHT}" '
                f'fill="{shade(cell.colour, len(self.legend))}" stroke="#666666"/>'
                f"{label}</g>"
            )

    def _legend(self) -> Iterable[str]:
        across = max(1, (self._width - 2 * _MARGIN) // self._entry_width)
        for number, name in enumerate(self.legend):
            x = _MARGIN + number % across * self._entry_width
            y = self._bottom + number // across * _CELL_HEIGHT
            yield (
                f'<g class="legend"><rect x="{x}" y="{y}" width="16" height="16" '
                f'fill="{shade(number, len(self.legend))}" stroke="#666666"/>'
                f"{_text(x + 20, y + 12, name)}</g>"
            )


def shade(number: int, count: int) -> str:
    """A light colour, on which black letters can be read, for one of so many numbers."""
    # Neighbours differ in lightness too, for those who do not see the hues.
    lightness = (0.88, 0.76, 0.82)[number % 3]
    red, green, blue = colorsys.hls_to_rgb(number / max(1, count), lightness, 0.75)
    return f"#{round(red * 255):02x}{round(green * 255):02x}{round(blue * 255):02x}"


def _text(x: int, y: int, words: str, more: str = "") -> str:
    return f'<text x="{x}" y="{y}"{more}>{escape(words)}</text>'
