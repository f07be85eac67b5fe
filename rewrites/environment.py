"""What is known of the names at a point of the program: dtypes, ranges, symbolic bounds."""

import ast
import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from rewrites.facts import Facts, Tile
from rewrites.quote import name
from rewrites.ranges import NATURAL, UNKNOWN, Range, range_of
from rewrites.tree import walk


@dataclass
class Environment:
    """Names are unique in a program, so one flat table serves; it grows in program order."""

    dtypes: dict[str, str] = field(default_factory=dict)
    ranges: dict[str, Range] = field(default_factory=dict)
    # Exclusive upper bounds as trees, where a bound is written with run-time names.
    bounds: dict[str, ast.expr] = field(default_factory=dict)
    # Numbers that divide what a name holds, other than 1.
    divisors: dict[str, int] = field(default_factory=dict)
    # Loop variables of `tl.static_range`, which are Python numbers in Triton.
    unrolled: set[str] = field(default_factory=set)

    def range(self, tree: ast.expr) -> Range:
        return range_of(tree, self.ranges)

    def divisor(self, tree: ast.expr) -> int:
        """A number that divides what a tree of integers holds; 0 where it is 0."""
        interval = self.range(tree)
        if interval.low is not None and interval.low == interval.high:
            return abs(interval.low)
        match tree:
            case ast.Name(id=identifier):
                return self.divisors.get(identifier, 1)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.divisor(operand)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mod(), right=right):
                return math.gcd(self.divisor(left), self.divisor(right))
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return self.divisor(left) * self.divisor(right)
            case ast.IfExp(body=first, orelse=second):
                return math.gcd(self.divisor(first), self.divisor(second))
            case ast.Call(func=ast.Attribute(attr="min" | "max"), args=[first, second]):
                return math.gcd(self.divisor(first), self.divisor(second))
        return 1

    def add_counter(self, identifier: str, start: ast.expr, stop: ast.expr, step: int) -> None:
        """A loop or block variable that runs from `start` towards `stop`."""
        first, last = self.range(start), self.range(stop)
        self.divisors[identifier] = math.gcd(self.divisor(start), step)
        self.dtypes[identifier] = "int32"
        # Sibling loops may share a name.
        self.bounds.pop(identifier, None)
        self.unrolled.discard(identifier)
        if step > 0:
            high = None if last.high is None else last.high - 1
            self.ranges[identifier] = Range(first.low, high)
            self.bounds[identifier] = stop
        else:
            low = None if last.low is None else last.low + 1
            self.ranges[identifier] = Range(low, first.high)


def environment_of(facts: Facts) -> Environment:
    """The names that are known before the first statement."""
    environment = Environment()
    for identifier, value in facts.constants.items():
        if isinstance(value, int) and not isinstance(value, bool):
            environment.ranges[identifier] = Range(value, value)
    for identifier, dtype in facts.scalars.items():
        environment.dtypes[identifier] = dtype
        environment.ranges[identifier] = UNKNOWN
    for identifier in (*facts.dims, *facts.strides):
        environment.dtypes.setdefault(identifier, "int32")
        environment.ranges[identifier] = NATURAL
    return environment


class Names:
    """Hands out identifiers that the program does not use."""

    def __init__(self, used: Iterable[str]) -> None:
        self.used = set(used)

    @classmethod
    def of(cls, tree: ast.AST, facts: Facts) -> "Names":
        """All but those that a program and what is emitted around it use."""
        names = cls({"T", "tl", "triton", "torch", "libdevice", "TensorDescriptor"})
        names.used |= set(facts.constants) | set(facts.tensors) | set(facts.dims)
        names.used |= {node.id for node in walk(tree) if isinstance(node, ast.Name)}
        return names

    def fresh(self, base: str) -> str:
        """`base`, or `base_1`, `base_2`, … where it is taken."""
        candidate, count = base, 0
        while candidate in self.used:
            count += 1
            candidate = f"{base}_{count}"
        self.used.add(candidate)
        return candidate


def next_power_of_two(extent: int) -> int:
    return 1 << max(extent - 1, 0).bit_length()


def lengths(tile: Tile) -> tuple[int, ...]:
    """The extents that the tile has in Triton: the next powers of two."""
    return tuple(next_power_of_two(extent) for extent in tile.shape)


def padded(extent: int, tree: ast.expr) -> ast.expr:
    """How the emitted kernel writes the padded extent.

    A named extent that is no power of two gets the name `<name>_pad`; `open_kernels` defines it.
    """
    length = next_power_of_two(extent)
    if length == extent:
        return tree
    if isinstance(tree, ast.Name):
        return name(f"{tree.id}_pad")
    return ast.Constant(length)
