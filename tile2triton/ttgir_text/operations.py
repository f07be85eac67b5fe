"""One operation of TTGIR, as a line of text says it."""

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

from .brackets import after_colon, parts
from .locations import without_location
from .tensor_types import MemoryType, TensorType, types_in

_OPERATION = re.compile(r'\s*(?:(%[\w$.#:, %-]+?) = )?"?([a-z_]\w*\.[\w.]+|call|return)"?')
_VALUE = re.compile(r"%[\w$.-]+(?:#\d+)?")
# A text has some hundred lines, which several readers ask for.
_KEPT = 4096


@dataclass(frozen=True)
class OperationText:
    """An operation of one line, or what stands before the first block of one that has blocks.

    `text` is what follows its name, up to its `location`, and begins at `start` in the line.
    """

    name: str
    results: tuple[str, ...]
    text: str
    start: int
    location: str

    @property
    def head(self) -> str:
        """What stands before its types: operands and attributes."""
        return self.text.split(" : ", 1)[0]

    @cached_property
    def operands(self) -> tuple[str, ...]:
        """The values that it names, in order; of a loop also those that it defines."""
        return tuple(_VALUE.findall(self.head))

    @cached_property
    def types(self) -> tuple[TensorType | MemoryType, ...]:
        """The tensors and memory descriptors in its types, in order."""
        return tuple(types_in(self.text))

    @cached_property
    def signature(self) -> tuple[tuple[int, str], ...]:
        """All types, of operands and results, each with its place in `text`.

        Of a loop they are those of what it hands from turn to turn.
        """
        if self.name == "scf.for":
            start = self.text.find(") -> (") + len(") -> (")
            return tuple(parts(self.text, start)[0])
        start = after_colon(self.text)
        separated = self.text.replace("->", " ,").replace(" * ", " , ")
        return tuple(parts(separated, start)[0]) if start > 0 else ()

    @cached_property
    def carried(self) -> tuple[tuple[str, str], ...]:
        """What a loop hands from turn to turn: names within it, and the values at first."""
        _, found, inside = self.text.partition("iter_args(")
        pairs = (part.partition(" = ") for _, part in parts(inside)[0]) if found else ()
        return tuple((name, first) for name, _, first in pairs)

    def handed_out(self, number: int) -> str:
        """The name of a loop's result of that number: one that is alone has none."""
        (name,) = self.results
        return f"{name}#{number}" if len(self.carried) > 1 else name

    @property
    def opens(self) -> bool:
        """Whether what follows is a block of it."""
        return self.text.endswith("{")


@lru_cache(_KEPT)
def operation_text(line: str) -> OperationText | None:
    """The operation that a line is; None for lines of other kinds."""
    code, location = without_location(line)
    found = _OPERATION.match(code)
    if found is None:
        return None
    results = tuple(_VALUE.findall(found[1])) if found[1] else ()
    return OperationText(found[2], results, code[found.end() :].rstrip(), found.end(), location)
