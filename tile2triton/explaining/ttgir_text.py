"""Operations of TTGIR text: their variables, the lines of the emitted kernel, tiles and layouts."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from tile2triton.sites import variable_of

_PLACE = re.compile(r'^(#loc\d*) = loc\("([^"]*)":(\d+):(\d+)\)')
_NAMED = re.compile(r'^(#loc\d*) = loc\("([^"]*)"\((#loc\d*)\)\)')
_CALLED = re.compile(r"^(#loc\d*) = loc\(callsite\((#loc\d*) at (#loc\d*)\)\)")
_ALIAS = re.compile(r"^(#(?!loc)\w+) = (#\w+\.\w+(?:<.*>)?)$")
_OPERATION = re.compile(
    r'^\s+(?:(?P<result>%[\w#:]+)(?:, %\w+)* = )?"?(?P<name>\w+\.[\w.]+)"?'
    r"(?P<rest>.*)loc\((?P<place>#loc\d*)\)$"
)
_LOCATED = re.compile(r"loc\((#loc\d*)\)$")
_LOCATION = re.compile(
    r" ?loc\((?:#loc\d*|unknown|\"[^\"]*\"(?:\(#loc\d*\)|:\d+:\d+)"
    r"|callsite\(#loc\d* at #loc\d*\))\)"
)
_TILE = re.compile(r"<((?:\d+x)+)(?:!tt\.ptr<)?(\w+)")
_LAYOUT = re.compile(r", (#\w+)[,>]")


@dataclass(frozen=True)
class Tile:
    """A type of several elements: its extents, and the element's name in Triton."""

    shape: tuple[int, ...]
    element: str

    @property
    def bytes(self) -> int:
        bits = re.match(r"[a-z]+(\d+)", self.element)
        return (math.prod(self.shape) * int(bits[1] if bits else 8) + 7) // 8


@dataclass(frozen=True)
class Operation:
    """One operation. `variable` is the emitted kernel's, "" where Triton has kept none."""

    name: str
    variable: str
    line: int
    text: str

    @cached_property
    def tiles(self) -> tuple[Tile, ...]:
        """The types of operands and results, in order."""
        found = _TILE.findall(self.text)
        return tuple(
            Tile(tuple(int(part) for part in extents.split("x") if part), element)
            for extents, element in found
        )

    @property
    def pointed(self) -> str:
        """The element that its pointers are to; "" where it has none."""
        match = re.search(r"!tt\.ptr<(\w+)>", self.text)
        return match[1] if match else ""

    @property
    def layouts(self) -> list[str]:
        """The names of the layouts in its types, in order."""
        return _LAYOUT.findall(self.text)


class Ttgir:
    """The text of one kernel's module; `path` is the file with the emitted kernel.

    `statements` says of each line of it in which one its statement begins.
    """

    def __init__(self, text: str, path: str, statements: Mapping[int, int]) -> None:
        self.path = path
        self.statements = statements
        self.lines = text.splitlines()
        self._places: dict[str, tuple[str, int]] = {}
        self._named: dict[str, tuple[str, str]] = {}
        self._called: dict[str, tuple[str, str]] = {}
        self.layouts: dict[str, str] = {}
        for line in self.lines:
            if match := _PLACE.match(line):
                self._places[match[1]] = (match[2], int(match[3]))
            elif match := _NAMED.match(line):
                self._named[match[1]] = (match[2], match[3])
            elif match := _CALLED.match(line):
                self._called[match[1]] = (match[2], match[3])
            elif match := _ALIAS.match(line):
                self.layouts[match[1]] = match[2]

    def operations(self) -> Iterator[Operation]:
        """All operations, in order."""
        for line in self.lines:
            match = _OPERATION.match(line)
            if match:
                variable, at = self._of(match["place"])
                yield Operation(match["name"], variable, self.statements.get(at, at), match["rest"])

    def without_locations(self) -> Iterator[tuple[int, str, int]]:
        """Each line of the module by its number, as it reads without locations, and its statement.

        The location of what has blocks stands behind them, and is that of its first line, too.
        """
        found: dict[int, int] = {}
        around: list[list[int]] = []
        for number, line in enumerate(self.lines, 1):
            opened = around.pop() if line.lstrip().startswith("}") and around else []
            if line.endswith("{"):
                around.append([*opened, number])
            elif match := _LOCATED.search(line):
                at = self._of(match[1])[1]
                found.update(dict.fromkeys((*opened, number), self.statements.get(at, at)))
        for number, line in enumerate(self.lines, 1):
            if not line.startswith("#loc"):
                yield number, _LOCATION.sub("", line), found.get(number, 0)

    def _of(self, place: str) -> tuple[str, int]:
        """The variable and the line of the emitted kernel that a location is of."""
        if place in self._named:
            variable, inner = self._named[place]
            return variable_of(variable), self._of(inner)[1]
        if place in self._called:
            inner, outer = self._called[place]
            line = self._of(inner)[1]
            return "", line or self._of(outer)[1]
        path, line = self._places.get(place, ("", 0))
        return "", line if path == self.path else 0


def warps_of(layout: str) -> tuple[int, ...]:
    """The warps that a layout of a product has along each dimension; empty if it says none."""
    match = re.search(r"warpsPerCTA = \[([\d, ]+)\]", layout)
    return tuple(int(part) for part in match[1].split(",")) if match else ()


def described(layout: str) -> str:
    """A layout of shared memory in a few words."""
    name = re.match(r"#\w+\.(\w+)", layout)
    kind = name[1] if name else layout
    known: Mapping[str, str] = {
        "nvmma_shared": r"swizzlingByteWidth = (\d+)",
        "swizzled_shared": r"vec = (\d+), perPhase = (\d+), maxPhase = (\d+)",
        "padded_shared": r"\[([\d:+, ]+)\]",
    }
    match = re.search(known[kind], layout) if kind in known else None
    if match is None:
        return kind.replace("_", " ")
    if kind == "nvmma_shared":
        return f"swizzled by {match[1]} bytes" if match[1] != "0" else "not swizzled"
    if kind == "padded_shared":
        return f"padded {match[1]}"
    if match[3] == "1":
        return "not swizzled"
    return f"swizzled, {match[1]} elements, {match[3]} phases of {match[2]} rows"
