"""The text of a TTGIR module, of Triton 3.6 and 3.9, as operations with their types and loops."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

from .attributes import Value, read_attribute
from .locations import Locations, without_location
from .operations import OperationText, operation_text
from .tensor_types import MemoryType, TensorType

_ALIAS = re.compile(r"#(?!loc)([\w$]+) = (#.*)$")
_CONSTANT = re.compile(r"\s*(-?\d+) : ")
_CORNER = re.compile(r"\[([\d, ]+)\]")
_FOR = re.compile(r"\s*(?:unsigned )?(%[\w$.-]+) = (%\S+) to (%\S+) step (%\S+)")
_PARTITION = re.compile(r"\s*partition\d+\((.*)\) num_warps\(\d+\) \{$")
_ARGUMENT = re.compile(r"(%[\w$.-]+): ")


@dataclass(frozen=True)
class Loop:
    """A loop around operations; `trips` is None where its bounds are no constants."""

    trips: int | None


@dataclass(frozen=True)
class Operation:
    """An operation at its place in a module; `variable` is the emitted kernel's, if there is one.

    Values of partitions of warps have names that tell them from others.
    """

    written: OperationText
    results: tuple[str, ...]
    operands: tuple[str, ...]
    variable: str
    loops: tuple[Loop, ...]
    line: int

    @property
    def name(self) -> str:
        return self.written.name

    @property
    def text(self) -> str:
        return self.written.text

    @property
    def types(self) -> tuple[TensorType | MemoryType, ...]:
        return self.written.types


@dataclass
class Module:
    """What a module's text says. `origins` leads from values to those that they stand for."""

    locations: Locations
    # The layouts that have a name, without its #, as they are written.
    written_aliases: dict[str, str]
    warps: int = 4
    lanes: int = 32
    target: str = ""
    operations: list[Operation] = field(default_factory=list)
    origins: dict[str, str] = field(default_factory=dict)
    # The first elements of views, where constants say them.
    corners: dict[str, tuple[int, ...]] = field(default_factory=dict)

    @cached_property
    def aliases(self) -> dict[str, Value]:
        """The layouts that have a name, read; raises LayoutError where one is no attribute."""
        return {name: read_attribute(text) for name, text in self.written_aliases.items()}

    def origin(self, value: str) -> str:
        """The value that a view, or an argument of a loop, is a part of."""
        seen = set()
        while value in self.origins and value not in seen:
            seen.add(value)
            value = self.origins[value]
        return value


def read_module(text: str) -> Module:
    """The module; of operations that it does not know it keeps what it knows."""
    lines = text.splitlines()
    module = Module(Locations(lines), written_aliases(lines))
    _read_header(text, module)
    _Body(module).read(lines)
    return module


def written_aliases(lines: list[str]) -> dict[str, str]:
    """The layouts that have a name, without its #, as they are written."""
    found = (_ALIAS.match(line) for line in lines if line.startswith("#"))
    return {match[1]: match[2] for match in found if match}


def is_shared(type_: MemoryType, aliases: Mapping[str, str]) -> bool:
    """Whether it is shared memory, and not the tensor memory of Blackwell."""
    return aliases.get(type_.space, f"#{type_.space}") == "#ttg.shared_memory"


def _read_header(text: str, module: Module) -> None:
    for name, what in (("num-warps", "warps"), ("threads-per-warp", "lanes")):
        if match := re.search(rf'"ttg\.{name}" = (\d+)', text):
            setattr(module, what, int(match[1]))
    if match := re.search(r'ttg\.target"? = "([^"]+)"', text):
        module.target = match[1]


class _Body:
    """Reads lines in order, with the loops that they stand in.

    Partitions of specialised warps have names of their own, which get the partition's `scope`.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.constants: dict[str, int] = {}
        # An entry for each open brace: the loop that it opened, or None, and the scope around it.
        self.open: list[tuple[Loop | None, str]] = []
        self.scope = ""
        # What the partitions that follow are given.
        self.given: tuple[str, ...] = ()

    def read(self, lines: list[str]) -> None:
        for number, line in enumerate(lines, 1):
            if line.lstrip().startswith("}") and self.open:
                _, self.scope = self.open.pop()
            opened, around = None, self.scope
            if written := operation_text(line):
                opens = written.opens
                opened = self.operation(written, number)
            else:
                code, _ = without_location(line)
                opens = code.endswith("{")
                if match := _PARTITION.match(code):
                    self.partition(match[1], number)
            if opens:
                self.open.append((opened, around))

    def scoped(self, values: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(value + self.scope for value in values) if self.scope else values

    def operation(self, written: OperationText, line: int) -> Loop | None:
        """Keep the operation; returns the loop that it opens, if it is one."""
        name, text = written.name, written.text
        results, operands = self.scoped(written.results), self.scoped(written.operands)
        if name == "scf.for":
            return self.loop(written)
        if name == "arith.constant" and results and (value := _CONSTANT.match(text)):
            self.constants[results[0]] = int(value[1])
        if name.startswith(("ttg.memdesc_", "ttng.warp_group_dot_wait")) and results and operands:
            self.module.origins[results[0]] = operands[0]
        if name == "ttg.memdesc_subslice" and (corner := _CORNER.search(written.head)):
            self.module.corners[results[0]] = tuple(map(int, corner[1].split(",")))
        if name == "ttg.warp_specialize":
            self.given = operands
        loops = tuple(loop for loop, _ in self.open if loop is not None)
        variable = self.module.locations.variable(written.location)
        self.module.operations.append(Operation(written, results, operands, variable, loops, line))
        return None

    def partition(self, arguments: str, line: int) -> None:
        """Its arguments are what the operation around it was given."""
        self.scope = f"@{line}"
        for own, given in zip(_ARGUMENT.findall(arguments), self.given, strict=False):
            self.module.origins[own + self.scope] = given

    def loop(self, written: OperationText) -> Loop:
        for number, (argument, first) in enumerate(written.carried):
            self.module.origins[argument + self.scope] = first + self.scope
            self.module.origins[written.handed_out(number) + self.scope] = first + self.scope
        bounds = _FOR.match(written.text)
        names = self.scoped(bounds.groups()[1:]) if bounds else ()
        known = [self.constants.get(name) for name in names]
        start, stop, step = known if len(known) == 3 else (None, None, None)
        if start is None or stop is None or not step:
            return Loop(None)
        return Loop(max(0, -(-(stop - start) // step)))


def trips_of(operation: Operation) -> int | None:
    """How often a program does it; None where a loop's bounds are not constants."""
    trips = [loop.trips for loop in operation.loops]
    return None if None in trips else prod(trip for trip in trips if trip is not None)
