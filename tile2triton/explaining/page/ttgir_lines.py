"""TTGIR for readers: without locations, each line with the line of the kernel that it is of."""

import re
from collections.abc import Iterator

from tile2triton.ttgir_text.locations import Locations, without_location

_LOCATION = re.compile(
    r" ?loc\((?:#loc\d*|unknown|\"[^\"]*\"(?:\(#loc\d*\)|:\d+:\d+)"
    r"|callsite\(#loc\d* at #loc\d*\))\)"
)


def ttgir_lines(text: str, path: str) -> Iterator[tuple[int, str, int]]:
    """The numbered lines of a module, and for each the line of the file `path`, or 0.

    The location of what has blocks stands behind them, and is that of its first line, too.
    """
    lines = text.splitlines()
    locations = Locations(lines)
    found: dict[int, int] = {}
    around: list[list[int]] = []
    for number, line in enumerate(lines, 1):
        opened = around.pop() if line.lstrip().startswith("}") and around else []
        if line.endswith("{"):
            around.append([*opened, number])
        elif location := without_location(line)[1]:
            at = locations.line(location, path)
            found.update(dict.fromkeys((*opened, number), at))
    for number, line in enumerate(lines, 1):
        if not line.startswith("#loc"):
            yield number, _LOCATION.sub("", line), found.get(number, 0)
