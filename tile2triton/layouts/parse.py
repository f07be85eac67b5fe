"""The text of a TTGIR module, of Triton 3.6 and 3.9, as operations with their types and loops."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod

from .attributes import Alias, Attribute, Value, read_attribute
from .encoding import Encoding
from .errors import layout_error
from .reading import encoding_of

_ALIAS = re.compile(r"^#([\w$]+) = (#.*)$")
_NAMED_LOCATION = re.compile(r'^#(loc\d*) = loc\("([A-Za-z_]\w*)"\(')
_LOCATION = re.compile(r"\s*loc\((?:#(loc\d*)|\"([A-Za-z_]\w*)\"\(.*\)|.*)\)\s*$")
_OPERATION = re.compile(r'^(?:(%[\w$.#:, %-]+?) = )?"?([a-z_]\w*\.[\w.]+|call|return)"?(.*)$')
_VALUE = re.compile(r"%[\w$.-]+(?:#\d+)?")
_CONSTANT = re.compile(r"^\s*(-?\d+) : ")
_CORNER = re.compile(r"\[([\d, ]+)\]")
_FOR = re.compile(r"^\s*(?:unsigned )?(%[\w$.-]+) = (%\S+) to (%\S+) step (%\S+)")
_ARGUMENTS = re.compile(r"iter_args\((.*?)\) ->")


@dataclass(frozen=True)
class TensorType:
    """`tensor<128x64xf16, #blocked>`; `element` is as written."""

    shape: tuple[int, ...]
    element: str
    encoding: Value | None


@dataclass(frozen=True)
class MemoryType:
    """`!ttg.memdesc<128x16xf16, #shared, #smem, mutable, 128x64>`; the last is `whole`."""

    shape: tuple[int, ...]
    element: str
    encoding: Value
    space: str
    whole: tuple[int, ...]


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


def element_bits(element: str) -> int:
    """The bits that an element, written `f16`, `i8`, `bf16` or `f8E4M3FN`, has in memory."""
    match = re.match(r"(?:bf|f|i|tf)(\d+)", element)
    if match is None:
        raise layout_error("T2T929", "elements of a type that is not known here", element)
    return max(8, int(match[1]))


class _Body:
    """Reads lines in order, with the loops that they stand in."""

    def __init__(self, module: Module, names: dict[str, str]) -> None:
        self.module = module
        self.names = names
        self.constants: dict[str, int] = {}
        # An entry for each open brace: the loop that it opened, or None.
        self.open: list[Loop | None] = []

    def read(self, lines: list[str]) -> None:
        for number, line in enumerate(lines, 1):
            stripped = line.strip()
            if stripped.startswith("}") and self.open:
                self.open.pop()
            code, variable = self.located(stripped)
            opened: Loop | None = None
            if match := _OPERATION.match(code):
                opened = self.operation(match, variable, number)
            if code.endswith("{"):
                self.open.append(opened)

    def located(self, line: str) -> tuple[str, str]:
        """The line without its location, and the variable that the location names."""
        match = _LOCATION.search(line)
        if match is None:
            return line, ""
        return line[: match.start()].rstrip(), self.names.get(match[1] or "", match[2] or "")

    def operation(self, match: re.Match[str], variable: str, line: int) -> Loop | None:
        """Keep the operation; returns the loop that it opens, if it is one."""
        results = tuple(name.strip() for name in (match[1] or "").split(",") if name.strip())
        name, rest = match[2], match[3]
        loops = tuple(loop for loop in self.open if loop is not None)
        if name == "scf.for":
            return self.loop(results, rest)
        if name == "arith.constant" and results and (value := _CONSTANT.match(rest)):
            self.constants[results[0]] = int(value[1])
        head = rest.split(" : ", 1)[0]
        operands = tuple(_VALUE.findall(head))
        if name.startswith(("ttg.memdesc_", "ttng.warp_group_dot_wait")) and results and operands:
            self.module.origins[results[0]] = operands[0]
        if name == "ttg.memdesc_subslice" and (corner := _CORNER.search(head)):
            self.module.corners[results[0]] = tuple(map(int, corner[1].split(",")))
        types = tuple(types_in(rest))
        self.module.operations.append(
            Operation(name, results, operands, rest.strip(), types, variable, loops, line)
        )
        return None

    def loop(self, results: tuple[str, ...], rest: str) -> Loop:
        if match := _ARGUMENTS.search(rest):
            name = results[0].split(":")[0] if results else ""
            for number, pair in enumerate(match[1].split(", ")):
                argument, _, initial = pair.partition(" = ")
                self.module.origins[argument] = initial
                self.module.origins[f"{name}#{number}"] = initial
        bounds = _FOR.match(rest)
        known = [self.constants.get(bound) for bound in bounds.groups()[1:]] if bounds else []
        start, stop, step = known if len(known) == 3 else (None, None, None)
        if start is None or stop is None or not step:
            return Loop(None)
        return Loop(max(0, -(-(stop - start) // step)))


def trips_of(operation: Operation) -> int | None:
    """How often a program does it; None where a loop's bounds are not constants."""
    trips = [loop.trips for loop in operation.loops]
    return None if None in trips else prod(trip for trip in trips if trip is not None)


def types_in(text: str) -> Iterator[TensorType | MemoryType]:
    """The tensors and memory descriptors in an operation's text, in order."""
    for match in re.finditer(r"tensor<|!ttg\.memdesc<|-> <", text):
        inside = _balanced(text, match.end())
        parts = _split(inside)
        shape, element = _shape(parts[0])
        if match[0] == "tensor<":
            encoding = read_attribute(parts[1]) if len(parts) > 1 else None
            yield TensorType(shape, element, encoding)
        elif len(parts) >= 3:
            space = read_attribute(parts[2])
            last = parts[-1]
            whole = _shape(f"{last}x")[0] if re.fullmatch(r"[\dx]+", last) else shape
            yield MemoryType(
                shape,
                element,
                read_attribute(parts[1]),
                space.name if isinstance(space, Alias | Attribute) else "",
                whole,
            )


def _balanced(text: str, start: int) -> str:
    """What is between the bracket before `start` and the one that closes it."""
    depth = 1
    for at in range(start, len(text)):
        if text[at] == "<":
            depth += 1
        elif text[at] == ">" and text[at - 1] != "-":
            depth -= 1
            if not depth:
                return text[start:at]
    raise layout_error("T2T928", "a type without its end", text[start - 8 : start + 60])


def _split(text: str) -> list[str]:
    """Parts between commas that stand in no brackets."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "<[{(") - (character in ">]})")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def _shape(text: str) -> tuple[tuple[int, ...], str]:
    match = re.match(r"((?:\d+x)*)(.*)$", text)
    assert match is not None
    return tuple(int(size) for size in match[1].split("x") if size), match[2]
