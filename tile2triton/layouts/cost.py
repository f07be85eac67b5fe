"""What the uses of one buffer cost with a layout, and the layout that costs least."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from . import machines
from .candidates import candidates
from .encoding import Encoding
from .errors import LayoutError
from .issues import Issues
from .matrix_operands import Boxes
from .padded_shared import PaddedShared
from .turning import turned
from .uses import COPY, Use


@dataclass(frozen=True)
class Part:
    """A use of a buffer that is done so many times; `turned` ones see it with exchanged axes."""

    use: Use
    trips: int
    turned: bool = False


@dataclass(frozen=True)
class Cost:
    """What all uses take together: wavefronts, those without conflicts, and instructions."""

    wavefronts: int
    ideal: int
    issues: int

    @property
    def total(self) -> int:
        """An instruction costs about as much to issue as a wavefront takes."""
        return self.wavefronts + self.issues


def cheapest(
    own: Encoding, parts: Sequence[Part], shape: tuple[int, ...], bits: int, target: str
) -> tuple[Encoding, Cost, Cost]:
    """The layout that costs least, with its cost before and after; ties go to the `own` one.

    Raises LayoutError where the uses cannot be done with the own one.
    """
    judge = _Judge(own, parts, target)
    best, after = own, judge.own_cost
    if after.wavefronts == after.ideal:
        return own, after, after
    seen = {_key(own, shape)}
    for other in candidates(own, [part.use for part in parts], shape, bits, target):
        key = _key(other, shape)
        if key in seen:
            continue
        seen.add(key)
        cost = judge.cost(other)
        if cost and cost.wavefronts < after.wavefronts and cost.total < after.total:
            best, after = other, cost
    return best, judge.own_cost, after


def _key(memory: Encoding, shape: tuple[int, ...]) -> tuple[object, object]:
    """What makes two layouts of one shape the same."""
    gaps = memory.gaps if isinstance(memory, PaddedShared) else ()
    return memory.linear(shape).inputs, gaps


class _Judge:
    """Counts what the parts of one buffer cost with a layout."""

    def __init__(self, own: Encoding, parts: Sequence[Part], target: str) -> None:
        self.target = target
        # The same use before and within a loop is simulated once.
        self.trips: dict[tuple[Use, bool], int] = {}
        for part in parts:
            key = part.use, part.turned
            self.trips[key] = self.trips.get(key, 0) + part.trips
        self.own = self.made(own)
        self.own_cost = self.summed(self.own)

    def cost(self, memory: Encoding) -> Cost | None:
        """None where some use cannot be done, or a copy would be narrower than it is."""
        try:
            made = self.made(memory)
        except LayoutError:
            return None
        possible = map(self.is_possible, self.trips, made, self.own)
        return self.summed(made) if all(possible) else None

    def made(self, memory: Encoding) -> list[Issues | Boxes]:
        return [
            use.made(turned(memory) if is_turned else memory, self.target)
            for use, is_turned in self.trips
        ]

    def summed(self, made: list[Issues | Boxes]) -> Cost:
        wavefronts = ideal = issues = 0
        for trips, one in zip(self.trips.values(), made, strict=True):
            wavefronts += trips * one.simulated
            ideal += trips * one.ideal
            issues += trips * one.total
        return Cost(wavefronts, ideal, issues)

    def is_possible(
        self, part: tuple[Use, bool], made: Issues | Boxes, owns: Issues | Boxes
    ) -> bool:
        if isinstance(made, Boxes) or isinstance(owns, Boxes):
            return True
        width = made.instruction.width
        if not made.is_aligned:
            return False
        if part[0].kind != COPY:
            return True
        wide_enough = width >= max(4, owns.instruction.width)
        return wide_enough and (not machines.is_amd(self.target) or _are_neighbours(made))


def _are_neighbours(made: Issues) -> bool:
    """Whether the lanes of each wave write one after the other, as copies past registers do."""
    steps = np.diff(made.addresses, axis=-1)
    return bool((steps == made.instruction.width).all())
