"""What is stored, and how each axis is run over: the plan that a program is written by."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

from rewrites.operands.online import Running
from rewrites.operands.terms import Axis, Size, Term, subterms


@dataclass(frozen=True)
class Output:
    """What is stored to a tensor: the term of an element, and at which indices it stands."""

    tensor: str
    term: Term
    indices: tuple[Term, ...]
    node: ast.AST

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes that number its elements, in the order of the dimensions."""
        return tuple(axis for index in self.indices for axis in axes_of(index))


def axes_of(index: Term) -> list[Axis]:
    """The axes that an index is made of, in the order in which they stand there."""
    return [one.detail for one in subterms(index) if isinstance(one.detail, Axis)]


@dataclass(frozen=True)
class Place:
    """How an axis is run over.

    | role | meaning |
    |---|---|
    | "grid" | one index for each program |
    | "tile" | a tile of `block` indices for each program |
    | "whole" | all indices in one tile |
    | "stream" | tile by tile, in a loop |
    | "step" | index by index, in a loop |
    """

    role: str
    # The extent of the tile, and its name in the program.
    block: Size

    @property
    def has_lanes(self) -> bool:
        return self.role not in ("grid", "step")

    def is_padded(self, axis: Axis) -> bool:
        """Whether one tile holds all of an axis, and is longer."""
        return self.role == "whole" and self.block.value != axis.size.value


@dataclass
class Plan:
    """The places of all axes, in the order of the outputs, and the loops over streamed ones."""

    outputs: list[Output]
    places: dict[Axis, Place] = field(default_factory=dict)
    loops: dict[Axis, list[Running]] = field(default_factory=dict)
    # Axes of which the last tiles have the most work, and go first.
    reversed: set[Axis] = field(default_factory=set)
    threads: int = 128
    num_stages: int = 2
    swizzle: int | None = None
    # How many programs a persistent grid has.
    programs: int | None = None
    # Streamed axes that several programs share.
    splits: dict[Axis, int] = field(default_factory=dict)
    # Whether its loops end each turn in the next one.
    rotate: bool = False
    # How many of its programs share a producer.
    consumers: int | None = None
    # Axes along which something is scanned.
    scanned: set[Axis] = field(default_factory=set)
    # The stages of loops of which the program says how many they have.
    stages: dict[Axis, int] = field(default_factory=dict)

    def stages_along(self, axis: Axis) -> int:
        """How many stages the loops over an axis have."""
        return self.stages.get(axis, self.num_stages)

    def block_sizes(self, axes: Iterable[Axis]) -> list[Size]:
        """The extents of a tile along some axes; what has no axes is a tile of one element."""
        return [self.places[axis].block for axis in axes] or [Size(1)]

    def lanes(self, axes: frozenset[Axis]) -> list[Axis]:
        """The axes that are extents of a tile, in the order of all axes."""
        return [axis for axis in self.places if axis in axes and self.places[axis].has_lanes]
