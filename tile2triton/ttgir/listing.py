"""A module as text, for edits of types and layouts, which Triton's bindings cannot change.

Only whole lines that belong to a variable of the kernel are edited, and names of layouts in them.
"""

import itertools
import re
from collections.abc import Iterator

from ..sites import is_meant
from ..ttgir_text.locations import Locations, without_location
from ..ttgir_text.module import written_aliases
from ..ttgir_text.operations import OperationText, operation_text
from ..ttgir_text.tensor_types import MemoryType, TensorType, alias_of
from .patching import Module, RefusedError


class Listing:
    """The lines of a module; operations are known by their lines, and read again after edits."""

    def __init__(self, module: Module) -> None:
        self.lines = str(module).split("\n")
        self.locations = Locations(self.lines)
        self.aliases = written_aliases(self.lines)
        # Layouts that edits have named.
        self.defined: dict[str, str] = {}

    def __str__(self) -> str:
        start = next(n for n, line in enumerate(self.lines) if line.startswith("module"))
        layouts = [f"{name} = {meaning}" for name, meaning in self.defined.items()]
        return "\n".join([*self.lines[:start], *layouts, *self.lines[start:]])

    def __getitem__(self, index: int) -> OperationText:
        """The operation of a line."""
        found = operation_text(self.lines[index])
        assert found is not None, f"no operation in {self.lines[index]}"
        return found

    def operations(self, names: tuple[str, ...], variable: str) -> list[int]:
        """The lines of a variable that are one of those operations."""
        return [
            index
            for index, one in self._numbered(range(len(self.lines)))
            if one.name in names and is_meant(self.locations.name(one.location), variable)
        ]

    def definitions(self, value: str, name: str) -> list[int]:
        """The lines that compute a value of that name by an operation."""
        numbered = self._numbered(range(len(self.lines)))
        return [index for index, one in numbered if one.name == name and value in one.results]

    def definition(self, value: str, reader: int) -> int | None:
        """The line that computes what a line reads; None where that is an argument.

        Blocks beside each other may use a name twice: the nearest line before, no further in, is
        meant.
        """
        depth = self._depth(reader)
        for index, one in self._numbered(range(reader - 1, -1, -1)):
            if value in one.results and self._depth(index) <= depth:
                return index
        return None

    def readers(self, index: int) -> Iterator[int]:
        """The lines that read what a line computes."""
        return self.readers_of(self[index].results[0], index)

    def readers_of(self, value: str, index: int) -> Iterator[int]:
        """The lines that read a value, behind the line where it gets its name."""
        depth = self._depth(index)
        for reader in range(index + 1, len(self.lines)):
            if self._depth(reader) < depth:
                return
            one = operation_text(self.lines[reader])
            if one is not None and value in one.operands:
                yield reader

    def alias(self, name: str) -> str:
        """What a layout's name, such as "#mma", stands for."""
        meaning = self.defined.get(name) or self.aliases.get(name[1:])
        if meaning is None:
            raise RefusedError(f"Triton's text has no layout {name}")
        return meaning

    def define(self, stem: str, meaning: str) -> str:
        """A name for a layout that the module has not had."""
        stems = (f"{stem}_{number}" for number in itertools.count())
        free = (f"#{one}" for one in stems if one not in self.aliases)
        name = next(name for name in free if name not in self.defined)
        self.defined[name] = meaning
        return name

    def require_shared_memory(self) -> None:
        """Name what types of shared memory name, in a module that has had none."""
        if "smem" not in self.aliases:
            self.defined["#smem"] = "#ttg.shared_memory"

    def place_before(self, readers: list[int], index: int) -> int:
        """The last line of a line's own block in front of all that reads it, and of any block."""
        depth = self._depth(index)
        for number in range(index + 1, len(self.lines)):
            opens = without_location(self.lines[number])[0].endswith("{")
            if self._depth(number) < depth or number in readers or opens:
                return number
        raise RefusedError("Triton's text ends in the middle of a kernel")

    def rename(self, index: int, old: str, new: str) -> None:
        """Give a line another layout in place of one that it names."""
        self.lines[index] = re.sub(re.escape(old) + r"(?!\w)", new, self.lines[index])

    def set_layout(self, index: int, type_: TensorType | MemoryType, old: str, new: str) -> None:
        """Give one of a line's types another layout in place of the one that it names."""
        line, start = self.lines[index], self[index].start + type_.place
        assert line.startswith(old, start), f"no {old} at {start} of {line}"
        self.lines[index] = line[:start] + new + line[start + len(old) :]

    def _numbered(self, indices: range) -> Iterator[tuple[int, OperationText]]:
        for index in indices:
            one = operation_text(self.lines[index])
            if one is not None:
                yield index, one

    def _depth(self, index: int) -> int:
        line = self.lines[index]
        # The end of a block stands as far out as what opens it.
        return len(line) - len(line.lstrip()) + (2 if line.lstrip().startswith("}") else 0)


def layout_of(operation: OperationText) -> str:
    """The name of the layout of what is computed, such as "#mma"; "" where it has none."""
    alias = alias_of(operation.types[-1]) if operation.types else ""
    return f"#{alias}" if alias else ""


def shape_of(operation: OperationText) -> tuple[int, ...]:
    """The extents of the tensor that is computed."""
    if not operation.types:
        raise RefusedError("Triton's text gives no extents where they were looked for")
    return operation.types[-1].shape
