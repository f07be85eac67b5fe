"""Locations in TTGIR: the variable of the kernel that a line computes, and its line there."""

import re
from collections.abc import Iterable

from ..sites import SUFFIX, variable_of

_DEFINITION = re.compile(r"(#loc\d*) = loc\((.*)\)$")
_VARIABLE = re.compile(rf'"([A-Za-z_]\w*{SUFFIX})"\(')
_NAMED = re.compile(r'"[^"]*"\((.*)\)$')
_PLACE = re.compile(r'"([^"]*)":(\d+):\d+$')
_KERNEL = re.compile(r'^#loc = loc\("([^"]*)":\d+:\d+\)$', re.MULTILINE)
_CALLED = re.compile(r"callsite\((#loc\d*) at (#loc\d*)\)$")
# What tells emitted modules of one name apart.
_DIGEST = re.compile(r"(_[0-9a-f]{16})?\.py$")


def module_name(path: str) -> str:
    """The name of an emitted module's file, without what its text gives it.

    Triton keeps a compiled kernel under its own text and line, and may give back one that was
    compiled from a module with other text around it.
    """
    return _DIGEST.sub("", path.rpartition("/")[2])


def without_location(line: str) -> tuple[str, str]:
    """A line, and the location at its end, such as `#loc3`; "" where it has none."""
    before, found, location = line.rpartition(" loc(")
    # Arguments have locations, too, which stand in brackets.
    if found and location.endswith(")") and location.count("(") == location.count(")") - 1:
        return before, location[:-1]
    return line, ""


def kernel_path(text: str) -> str:
    """The file that a module's kernel stood in when it was compiled; "" where the text lacks it.

    Triton's cache holds what was compiled of the same text in another file, too.
    """
    found = _KERNEL.search(text)
    return found[1] if found else ""


class Locations:
    """What the names of locations in a module's text stand for."""

    def __init__(self, lines: Iterable[str]) -> None:
        found = (_DEFINITION.match(line) for line in lines if line.startswith("#loc"))
        self._meanings = {match[1]: match[2] for match in found if match}
        self._lines: dict[tuple[str, str], int] = {}

    def variable(self, location: str) -> str:
        """The variable that the value was assigned to; "" where Triton has kept none."""
        return variable_of(self.name(location))

    def name(self, location: str) -> str:
        """The same, or which of its sites it is where patches have named that."""
        found = _VARIABLE.match(self._meanings.get(location, location))
        return found[1] if found else ""

    def line(self, location: str, path: str) -> int:
        """The line of the file `path`, or of a call there; 0 where it is none of these."""
        key = location, path
        if key not in self._lines:
            self._lines[key] = self._line(self._meanings.get(location, location), path)
        return self._lines[key]

    def _line(self, meaning: str, path: str) -> int:
        if match := _PLACE.match(meaning):
            return int(match[2]) if module_name(match[1]) == module_name(path) else 0
        if match := _CALLED.match(meaning):
            return self.line(match[1], path) or self.line(match[2], path)
        if match := _NAMED.match(meaning):
            return self.line(match[1], path)
        return 0
