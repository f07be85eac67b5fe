"""Default tiles that fit: how much of a chip's memory and registers the tiles of a plan take.

What is estimated is what Triton does: of each tile that a loop loads for a product there are as
many in shared memory as there are stages, and what products sum up to stays in registers.
"""

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from rewrites.dtypes import BY_NAME
from rewrites.environment import next_power_of_two
from rewrites.facts import Facts
from rewrites.operands.places import Output
from rewrites.operands.terms import Axis, Size, Term, reduced_axis, subterms

# A thread holds so many words of sums, and of what is made of them, without spilling many.
SUMS = {"cuda": 192, "hip": 320}
WORDS = {"cuda": 256, "hip": 336}
# No tile of a product becomes shorter.
SHORTEST = 16
# What needs no more registers than its operands have.
CHEAP = ("T.max", "T.min", "T.maximum", "T.minimum", "T.if_then_else", "T.abs")

Sizes = dict[Axis, Size]


@dataclass(frozen=True)
class Fitting:
    """The tiles of a program with products on one target."""

    outputs: list[Output]
    roles: Mapping[Axis, str]
    facts: Facts
    # How many threads a program with tiles of some sizes has.
    threads: Callable[[Sizes], int]

    def fitted(self, sizes: Sizes, stages: int, free: Iterable[Axis], is_free: bool) -> int:
        """Halve free tiles in `sizes` where they do not fit; gives how many stages fit with them.

        `is_free` says whether the number of stages may be lowered.
        """
        free = [axis for axis in free if self.roles[axis] in ("tile", "stream")]
        made = {axis for dot in self._dots() for axis in dot.axes}
        while not self._fits_registers(sizes):
            if not self._halve(sizes, [axis for axis in free if axis in made]):
                break
        room = self.facts.shared_memory - 1024
        while self.shared_memory(sizes, stages) > room:
            if stages > 2 and is_free:
                stages -= 1
            elif not self._halve(sizes, free):
                # Without a pipeline there is one tile of each.
                return 1 if is_free else stages
        return stages

    def _halve(self, sizes: Sizes, free: list[Axis]) -> bool:
        """Halve the longest tile that can be shorter: those that a loop runs over come first."""
        can = [axis for axis in reversed(free) if sizes[axis].value > SHORTEST]
        looped = [axis for axis in can if self.roles[axis] == "stream" and sizes[axis].value > 64]
        if not can:
            return False
        longest = max(looped or can, key=lambda axis: sizes[axis].value)
        sizes[longest] = dataclasses.replace(sizes[longest], value=sizes[longest].value // 2)
        return True

    def _fits_registers(self, sizes: Sizes) -> bool:
        chip = self.facts.target.split(":")[0]
        threads = self.threads(sizes)
        dots = self._dots()
        sums = sum(self._words(dot, sizes) for dot in dots)
        made = [side for dot in dots for side in dot.operands if self._is_made(side)]
        words = sums + sum(self._words(side, sizes) for side in made)
        words += sum(self._words(one.term, sizes) for one in self.outputs if _is_costly(one.term))
        # What is added to products, such as a bias, is beside them as float32.
        for matrix in self._matrices_beside():
            # Where rows begin anywhere, each element has an address of its own.
            each = 1 if _has_even_rows(matrix) else 3
            words += each * self._elements(matrix, sizes)
        if chip == "hip":
            # What a loop multiplies every time is loaded to registers in front of it.
            words += sum(self._words(one, sizes) for one in self._factors() if self._is_kept(one))
        return sums <= SUMS[chip] * threads and words <= WORDS[chip] * threads

    def shared_memory(self, sizes: Sizes, stages: int) -> int:
        """The bytes of shared memory that a program takes, about."""
        kept, looped = 0, dict[Axis, list[int]]()
        for factor in self._factors():
            size = self._words(factor, sizes) * 4
            if self._is_kept(factor):
                kept += size
            for axis in factor.axes:
                if self.roles[axis] == "stream":
                    looped.setdefault(axis, []).append(size * self._copies(factor))
        for matrix in self._matrices_beside():
            for axis in matrix.axes:
                if self.roles[axis] == "stream":
                    looped.setdefault(axis, []).append(self._words(matrix, sizes) * 4)
        is_cuda = self.facts.target.startswith("cuda")
        # Without warp groups that multiply, one tile fewer waits.
        waiting = stages if self.facts.target in ("cuda:90", "cuda:100") else stages - 1
        most = max((max(own + [waiting * sum(own)]) for own in looped.values()), default=0)
        stored = max(self._words(one.term, sizes) * 4 for one in self.outputs)
        if BY_NAME[self.outputs[0].term.dtype].bits == 64:
            # What is stored is brought into another order beside the tiles.
            most += stored
        return kept + most if is_cuda else max(kept, most)

    def _dots(self) -> list[Term]:
        found = subterms(*(output.term for output in self.outputs))
        return [term for term in found if term.kind == "dot"]

    def _factors(self) -> list[Term]:
        """What products load."""
        sides = [side for dot in self._dots() for side in dot.operands]
        return [side for side in dict.fromkeys(sides) if side.kind == "load"]

    def _matrices_beside(self) -> list[Term]:
        """The matrices that a loop loads beside the factors of its products."""
        factors = self._factors()
        found = subterms(*(output.term for output in self.outputs))
        return [
            term
            for term in found
            if term.kind == "load"
            and term not in factors
            and any(self.roles[axis] == "stream" for axis in term.axes)
            and any(self.roles[axis] == "tile" for axis in term.axes)
        ]

    def _is_made(self, side: Term) -> bool:
        """Whether a factor is made of another product."""
        return side.kind != "load" and any(one.kind == "dot" for one in subterms(side))

    def _is_kept(self, factor: Term) -> bool:
        """Whether a factor is one for all turns of a loop."""
        return all(self.roles[axis] != "stream" for axis in factor.axes)

    def _copies(self, factor: Term) -> int:
        """How many tiles a factor takes: float32 that must be turned for tensor cores has two."""
        if self.facts.target != "cuda:90" or factor.dtype != "float32":
            return 1
        return 2 if any(_is_turned(factor, dot) for dot in self._dots()) else 1

    def _words(self, term: Term, sizes: Sizes) -> int:
        """The words of 32 bits in a tile of a term."""
        return self._elements(term, sizes) * BY_NAME[term.dtype].bits // 32

    def _elements(self, term: Term, sizes: Sizes) -> int:
        lanes = [axis for axis in term.axes if self.roles[axis] not in ("grid", "step")]
        return math.prod(next_power_of_two(sizes[axis].value) for axis in lanes)


def _has_even_rows(load: Term) -> bool:
    """Whether each row of a tensor begins at a multiple of 16 bytes."""
    inner = [axis.size.value for axis in load.operands[-1].axes]
    return all(size * BY_NAME[load.dtype].bits % 128 == 0 for size in inner)


def _is_turned(factor: Term, dot: Term) -> bool:
    left, right = dot.operands
    if factor is not right or left.kind != "load":
        return False
    axis = reduced_axis(dot)
    return axis not in factor.operands[-1].axes


def _is_costly(term: Term) -> bool:
    """Whether what is stored is computed from a product by a function of many instructions."""
    waiting, known = [term], {term}
    while waiting:
        one = waiting.pop()
        if one.kind in ("dot", "reduce", "load"):
            continue
        is_call = one.kind == "apply" and str(one.detail).startswith("T.")
        if is_call and one.detail not in CHEAP and any(x.kind == "dot" for x in subterms(one)):
            return True
        waiting += [operand for operand in one.operands if operand not in known]
        known.update(one.operands)
    return False
