"""The values that registers of PTX have in each thread of a program, as far as they need no memory.

Addresses of shared memory need none: they come from the thread's number. Registers that change from
trip to trip of a loop have the value of the first one, where threads see no other difference.
"""

import re
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from .linear import Indices

_DEFINITION = re.compile(r"^([a-z][\w.]*)\s+(%\w+)(?:\|%\w+)?, (.*);$")
_NUMBER = re.compile(r"-?(?:0x[0-9a-fA-F]+|\d+)")
_MASK = 0xFFFFFFFF
_WARP = 32
_Compute: TypeAlias = Callable[..., Indices]


class UnknownValueError(Exception):
    """What a register has depends on memory, on arguments, or on an instruction not known here."""


class _NeedsItselfError(UnknownValueError):
    """The register is being evaluated: it changes in a loop."""


class Registers:
    """Values by name, for so many threads."""

    def __init__(self, lines: list[str], threads: int) -> None:
        self.threads = np.arange(threads, dtype=np.int64)
        self.definitions: dict[str, dict[tuple[str, str], None]] = {}
        for line in lines:
            if match := _DEFINITION.match(line):
                self.definitions.setdefault(match[2], {})[match[1], match[3]] = None
        self.known: dict[str, Indices] = {"%tid.x": self.threads}
        self.unknown: set[str] = set()
        # What is being evaluated.
        self.pending: set[str] = set()

    def value(self, name: str) -> Indices:
        """The value in each thread, as an unsigned number; raises UnknownValueError."""
        if _NUMBER.fullmatch(name):
            return np.full_like(self.threads, int(name, 0)) & _MASK
        if not name.startswith("%"):
            # Of the one symbol, the start of shared memory, it only matters that it is aligned.
            return np.zeros_like(self.threads)
        if name not in self.known:
            if name in self.pending:
                raise _NeedsItselfError(name)
            if name in self.unknown or name not in self.definitions:
                raise UnknownValueError(name)
            self.pending.add(name)
            try:
                self.known[name] = self.evaluated(name)
            finally:
                self.pending.remove(name)
        return self.known[name]

    def evaluated(self, name: str) -> Indices:
        """The value by the first definition, if all threads see the same difference to others."""
        found, needs_itself = [], False
        for operation, operands in self.definitions[name]:
            try:
                found.append(self.computed(operation, operands.split(", ")))
            except _NeedsItselfError:
                needs_itself = True
            except UnknownValueError:
                continue
        if found and all(len(np.unique(other - found[0])) == 1 for other in found):
            return found[0]
        if needs_itself and not found:
            # It may be known once what needs it is.
            raise _NeedsItselfError(name)
        self.unknown.add(name)
        raise UnknownValueError(name)

    def computed(self, operation: str, operands: list[str]) -> Indices:
        kind, _, rest = operation.partition(".")
        if kind == "setp":
            return self.compared(rest, operands)
        compute = _OPERATIONS.get(operation) or _OPERATIONS.get(kind)
        if compute is None:
            raise UnknownValueError(operation)
        return compute(*map(self.value, operands)) & _MASK

    def compared(self, rest: str, operands: list[str]) -> Indices:
        relation, kind = rest.split(".")[:2]
        if relation not in _RELATIONS or kind not in ("s32", "u32", "b32"):
            raise UnknownValueError(rest)
        first, second = map(self.value, operands[:2])
        if kind.startswith("s"):
            first, second = _signed(first), _signed(second)
        return _RELATIONS[relation](first, second).astype(np.int64)


def _signed(value: Indices) -> Indices:
    return (value ^ 0x80000000) - 0x80000000


def _field(value: Indices, start: Indices, length: Indices) -> Indices:
    found: Indices = value >> start & ((1 << length) - 1)
    return found


def _signed_field(value: Indices, start: Indices, length: Indices) -> Indices:
    field = _field(value, start, length)
    found: Indices = field - ((field >> (length - 1) & 1) << length)
    return found


def _from_lane(value: Indices, lane: Indices, *_: Indices) -> Indices:
    first = np.arange(len(value)) // _WARP * _WARP
    found: Indices = value[first + lane % _WARP]
    return found


def _chosen(first: Indices, second: Indices, condition: Indices) -> Indices:
    return np.where(condition != 0, first, second).astype(np.int64)


def _looked_up(first: Indices, second: Indices, third: Indices, table: Indices) -> Indices:
    """lop3: `table` has a bit for each combination of the others' bits."""
    result = np.zeros_like(first)
    for at in range(8):
        if int(table[0]) >> at & 1:
            term = np.full_like(first, _MASK)
            for place, value in zip((2, 1, 0), (first, second, third), strict=True):
                term &= value if at >> place & 1 else ~value
            result |= term
    return result


_OPERATIONS: dict[str, _Compute] = {
    "mov": lambda value: value,
    "cvt": lambda value: value,
    "and": lambda first, second: first & second,
    "or": lambda first, second: first | second,
    "xor": lambda first, second: first ^ second,
    # Predicates are 0 or 1.
    "not.pred": lambda value: value ^ 1,
    "not": lambda value: ~value,
    "neg": lambda value: -value,
    "shl": lambda value, count: value << np.minimum(count, 32),
    "shr.s32": lambda value, count: _signed(value) >> np.minimum(count, 31),
    "shr": lambda value, count: value >> np.minimum(count, 32),
    "add": lambda first, second: first + second,
    "sub": lambda first, second: first - second,
    "mul.lo.s32": lambda first, second: first * second,
    "mad.lo.s32": lambda first, second, third: first * second + third,
    "bfe.u32": _field,
    "bfe.s32": _signed_field,
    "lop3.b32": _looked_up,
    "selp": _chosen,
    "shfl.sync.idx.b32": _from_lane,
}
_RELATIONS: dict[str, Callable[[Indices, Indices], Indices]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
