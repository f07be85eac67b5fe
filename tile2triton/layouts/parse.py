"""The text of a TTGIR module, of Triton 3.6 and 3.9, as operations with their types and loops."""

import re
from dataclasses import dataclass, field
from math import prod

from ..sites import SUFFIX
from .attributes import Alias, Attribute, Value, read_attribute
from .encoding import Encoding
from .errors import layout_error
from .reading import encoding_of
from .tensor_types import MemoryType, TensorType, types_in

_ALIAS = re.compile(r"^#([\w$]+) = (#.*)$")
_NAMED_LOCATION = re.compile(rf'^#(loc\d*) = loc\("([A-Za-z_]\w*){SUFFIX}"\(')
_LOCATION = re.compile(rf"\s*loc\((?:#(loc\d*)|\"([A-Za-z_]\w*){SUFFIX}\"\(.*\)|.*)\)\s*$")
_OPERATION = re.compile(r'^(?:(%[\w$.#:, %-]+?) = )?"?([a-z_]\w*\.[\w.]+|call|return)"?(.*)$')
_VALUE = re.compile(r"%[\w$.-]+(?:#\d+)?")
_CONSTANT = re.compile(r"^\s*(-?\d+) : ")
_CORNER = re.compile(r"\[([\d, ]+)\]")
_FOR = re.compile(r"^\s*(?:unsigned )?(%[\w$.-]+) = (%\S+) to (%\S+) step (%\S+)")
_PARTITION = re.compile(r"^partition\d+\((.*)\) num_warps\(\d+\) \{$")
_ARGUMENT = re.compile(r"(%[\w$.-]+): ")
_ARGUMENTS = re.compile(r"iter_args\((.*?)\) ->")


@dataclass(frozen=True)
class Loop:
    """A loop around operations; `trips` is None where its bounds are no constants."""

    trips: int | None


@dataclass(frozen=True)
class Operation:
    """One operation; `variable` is the name in Python that its location has, if it has one."""

    name: str
    results: tuple[str, ...]
    operands: tuple[str, ...]
    text: str
    types: tuple[TensorType | MemoryType, ...]
    variable: str
    loops: tuple[Loop, ...]
    line: int


@dataclass
class Module:
    """What a module's text says. `origins` leads from values to those that they stand for."""

    aliases: dict[str, Value] = field(default_factory=dict)
    warps: int = 4
    lanes: int = 32
    target: str = ""
    operations: list[Operation] = field(default_factory=list)
    origins: dict[str, str] = field(default_factory=dict)
    # The first elements of views, where constants say them.
    corners: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def encoding(self, type_: TensorType | MemoryType) -> Encoding:
        """The layout of a type; raises LayoutError where it is not known or there is none."""
        if type_.encoding is None:
            raise layout_error("T2T929", "a tensor without a layout", type_.element)
        return encoding_of(type_.encoding, self.aliases)

    def alias(self, type_: TensorType | MemoryType) -> str:
        """The alias that a type's layout is written as; empty where it is written out."""
        return type_.encoding.name if isinstance(type_.encoding, Alias) else ""

    def is_shared(self, type_: MemoryType) -> bool:
        """Whether it is shared memory, and not the tensor memory of Blackwell."""
        space = self.aliases.get(type_.space)
        name = space.name if isinstance(space, Attribute) else type_.space
        return name == "ttg.shared_memory"

    def origin(self, value: str) -> str:
        """The value that a view, or an argument of a loop, is a part of."""
        seen = set()
        while value in self.origins and value not in seen:
            seen.add(value)
            value = self.origins[value]
        return value


def parse(text: str) -> Module:
    """The module; operations that it does not know it keeps with the types that it knows."""
    module = Module()
    lines = text.splitlines()
    names = {match[1]: match[2] for line in lines if (match := _NAMED_LOCATION.match(line))}
    for line in lines:
        if (match := _ALIAS.match(line)) and not match[1].startswith("loc"):
            module.aliases[match[1]] = read_attribute(match[2])
    _read_header(text, module)
    _Body(module, names).read(lines)
    return module


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

    def __init__(self, module: Module, names: dict[str, str]) -> None:
        self.module = module
        self.names = names
        self.constants: dict[str, int] = {}
        # An entry for each open brace: the loop that it opened, or None, and the scope around it.
        self.open: list[tuple[Loop | None, str]] = []
        self.scope = ""
        # What the partitions that follow are given.
        self.given: tuple[str, ...] = ()

    def read(self, lines: list[str]) -> None:
        for number, line in enumerate(lines, 1):
            stripped = line.strip()
            if stripped.startswith("}") and self.open:
                _, self.scope = self.open.pop()
            code, variable = self.located(stripped)
            opened, around = None, self.scope
            if match := _OPERATION.match(code):
                opened = self.operation(match, variable, number)
            elif match := _PARTITION.match(code):
                self.partition(match[1], number)
            if code.endswith("{"):
                self.open.append((opened, around))

    def located(self, line: str) -> tuple[str, str]:
        """The line without its location, and the variable that the location names."""
        match = _LOCATION.search(line)
        if match is None:
            return line, ""
        return line[: match.start()].rstrip(), self.names.get(match[1] or "", match[2] or "")

    def named(self, text: str) -> tuple[str, ...]:
        """The values that are named in a text, in order."""
        return tuple(name + self.scope for name in _VALUE.findall(text))

    def operation(self, match: re.Match[str], variable: str, line: int) -> Loop | None:
        """Keep the operation; returns the loop that it opens, if it is one."""
        results = self.named(match[1] or "")
        name, rest = match[2], match[3]
        if name == "scf.for":
            return self.loop(results, rest)
        if name == "arith.constant" and results and (value := _CONSTANT.match(rest)):
            self.constants[results[0]] = int(value[1])
        head = rest.split(" : ", 1)[0]
        operands = self.named(head)
        if name.startswith(("ttg.memdesc_", "ttng.warp_group_dot_wait")) and results and operands:
            self.module.origins[results[0]] = operands[0]
        if name == "ttg.memdesc_subslice" and (corner := _CORNER.search(head)):
            self.module.corners[results[0]] = tuple(map(int, corner[1].split(",")))
        if name == "ttg.warp_specialize":
            self.given = operands
        loops = tuple(loop for loop, _ in self.open if loop is not None)
        types = tuple(types_in(rest))
        self.module.operations.append(
            Operation(name, results, operands, rest.strip(), types, variable, loops, line)
        )
        return None

    def partition(self, arguments: str, line: int) -> None:
        """Its arguments are what the operation around it was given."""
        self.scope = f"@{line}"
        for own, given in zip(_ARGUMENT.findall(arguments), self.given, strict=False):
            self.module.origins[own + self.scope] = given

    def loop(self, results: tuple[str, ...], rest: str) -> Loop:
        if match := _ARGUMENTS.search(rest):
            pairs = [pair.partition(" = ") for pair in match[1].split(", ")]
            for number, (argument, _, initial) in enumerate(pairs):
                initial += self.scope
                self.module.origins[argument + self.scope] = initial
                for result in results:
                    # A single result has no number.
                    name = result.removesuffix(self.scope)
                    several = f"{name}#{number}" if len(pairs) > 1 else name
                    self.module.origins[several + self.scope] = initial
        bounds = _FOR.match(rest)
        known = (
            [self.constants.get(bound + self.scope) for bound in bounds.groups()[1:]]
            if bounds
            else []
        )
        start, stop, step = known if len(known) == 3 else (None, None, None)
        if start is None or stop is None or not step:
            return Loop(None)
        return Loop(max(0, -(-(stop - start) // step)))


def trips_of(operation: Operation) -> int | None:
    """How often a program does it; None where a loop's bounds are not constants."""
    trips = [loop.trips for loop in operation.loops]
    return None if None in trips else prod(trip for trip in trips if trip is not None)
