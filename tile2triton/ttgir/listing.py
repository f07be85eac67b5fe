"""A module as text, for edits of types and layouts, which Triton's bindings cannot change.

Only whole lines that belong to a variable of the kernel are edited, and names of layouts in them.
"""

import itertools
import re
from collections.abc import Iterator

from ..sites import SUFFIX, is_meant
from .patching import Module, RefusedError

_VARIABLE = re.compile(rf'^(#loc\d*) = loc\("([A-Za-z_]\w*{SUFFIX})"\(')
_LOCATION = re.compile(r" loc\((#loc\d*)\)$")
_ALIAS = re.compile(r"^(#(?!loc)\w+) = (.*)$")
_DEFINED = re.compile(r"^\s*(%[\w#]+)(?::\d+)? = ")
_TENSOR = re.compile(r"(\d+(?:x\d+)*)x(\w+), #")


class Listing:
    """The lines of a module; what is read of them is found again after each edit."""

    def __init__(self, module: Module) -> None:
        self.lines = str(module).split("\n")
        found = filter(None, map(_VARIABLE.match, self.lines))
        self.variables = {match[1]: match[2] for match in found}
        # Layouts that edits have named.
        self.defined: dict[str, str] = {}

    def __str__(self) -> str:
        start = next(n for n, line in enumerate(self.lines) if line.startswith("module"))
        layouts = [f"{name} = {meaning}" for name, meaning in self.defined.items()]
        return "\n".join([*self.lines[:start], *layouts, *self.lines[start:]])

    def variable(self, index: int) -> str:
        """The variable of the kernel that a line computes."""
        found = _LOCATION.search(self.lines[index])
        return self.variables.get(found[1], "") if found else ""

    def operations(self, operation: str, variable: str) -> list[int]:
        """The lines of a variable that are an operation; `operation` is a regular expression."""
        pattern = re.compile(rf"^\s*(?:%\S+ = )?(?:{operation})(?=[ \"<])")
        lines = enumerate(self.lines)
        found = (index for index, line in lines if pattern.match(line))
        return [index for index in found if is_meant(self.variable(index), variable)]

    def result(self, index: int) -> str:
        """The name of what a line computes."""
        found = _DEFINED.match(self.lines[index])
        assert found is not None, f"no result in {self.lines[index]}"
        return found[1]

    def operands(self, index: int) -> list[str]:
        """The values that a line reads, in their order."""
        line = self.lines[index]
        found = _DEFINED.match(line)
        return re.findall(r"%[\w#]+", line[found.end() :] if found else line)

    def definition(self, value: str, reader: int) -> int | None:
        """The line that computes what a line reads; None where that is an argument.

        Blocks beside each other may use a name twice: the nearest line before, no further in, is
        meant.
        """
        depth = self._depth(reader)
        for index in range(reader - 1, -1, -1):
            if self._depth(index) <= depth and self.lines[index].lstrip().startswith(f"{value} = "):
                return index
        return None

    def readers(self, index: int) -> Iterator[int]:
        """The lines that read what a line computes."""
        return self.readers_of(self.result(index), index)

    def readers_of(self, value: str, index: int) -> Iterator[int]:
        """The lines that read a value, behind the line where it gets its name."""
        pattern = re.compile(re.escape(value) + r"(?![\w])")
        depth = self._depth(index)
        for reader in range(index + 1, len(self.lines)):
            if self._depth(reader) < depth:
                return
            if pattern.search(self.lines[reader]):
                yield reader

    def alias(self, name: str) -> str:
        """What a layout's name, such as "#mma", stands for."""
        if name in self.defined:
            return self.defined[name]
        for found in filter(None, map(_ALIAS.match, self.lines)):
            if found[1] == name:
                return found[2]
        raise RefusedError(f"Triton's text has no layout {name}")

    def define(self, stem: str, meaning: str) -> str:
        """A name for a layout that the module has not had."""
        taken = {found[1] for found in filter(None, map(_ALIAS.match, self.lines))}
        names = (f"#{stem}_{number}" for number in itertools.count())
        name = next(name for name in names if name not in taken and name not in self.defined)
        self.defined[name] = meaning
        return name

    def place_before(self, readers: list[int], index: int) -> int:
        """The last line of a line's own block in front of all that reads it, and of any block."""
        depth = self._depth(index)
        for number in range(index + 1, len(self.lines)):
            line = self.lines[number].rstrip()
            opens = re.sub(r" loc\(#loc\d*\)$", "", line).endswith(("{", "({"))
            if self._depth(number) < depth or number in readers or opens:
                return number
        raise RefusedError("Triton's text ends in the middle of a kernel")

    def rename(self, index: int, old: str, new: str) -> None:
        """Give a line another layout in place of one that it names."""
        self.lines[index] = re.sub(re.escape(old) + r"(?!\w)", new, self.lines[index])

    def _depth(self, index: int) -> int:
        line = self.lines[index]
        # The end of a block stands as far out as what opens it.
        return len(line) - len(line.lstrip()) + (2 if line.lstrip().startswith("}") else 0)


def layout_of(line: str) -> str:
    """The name of the layout of what a line computes; "" where it has none."""
    found = re.search(r"#\w+(?=>(?: loc\(#loc\d*\))?$)", line)
    return found[0] if found else ""


def shape_of(line: str) -> tuple[int, ...]:
    """The extents of the tensor that a line computes."""
    found = _TENSOR.findall(line)
    if not found:
        raise RefusedError("Triton's text gives no extents where they were looked for")
    return tuple(int(extent) for extent in found[-1][0].split("x"))
