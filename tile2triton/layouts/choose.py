"""Choose for each buffer of a kernel the layout that costs least, where Triton's own costs more."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from ..ttgir_text.module import Module, read_module
from ..ttgir_text.tensor_types import MemoryType, alias_of
from . import machines
from .accesses import Access, accesses
from .candidates import candidates
from .encoding import Encoding
from .errors import LayoutError
from .issues import Issues
from .matrix_operands import Boxes
from .padded_shared import PaddedShared
from .reading import encoding_in
from .turning import turned
from .uses import COPY, Use
from .writing import written

# Loops whose bounds are arguments are taken to be of so many trips.
ASSUMED_TRIPS = 16
# Operations that look at a buffer without moving its elements.
_VIEWS = (
    "ttg.memdesc_index",
    "ttg.memdesc_subslice",
    "ttg.memdesc_trans",
    "ttg.local_dealloc",
    "ttng.warp_group_dot_wait",
    "ttng.fence_async_shared",
    "scf.yield",
)


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


@dataclass(frozen=True)
class Choice:
    """A better layout for a buffer than its `own`; `heat` is bytes moved, times trips.

    `replacements` are the aliases of the buffer's types in the text, and what they should be for
    this buffer: others may share them.
    """

    buffer: str
    value: str
    shape: tuple[int, ...]
    bits: int
    own: Encoding
    best: Encoding
    before: Cost
    after: Cost
    heat: int
    replacements: tuple[tuple[str, str], ...]


def choose(text: str, target: str = "") -> list[Choice]:
    """Better layouts for the buffers of TTGIR, the hottest buffer first.

    Buffers whose own layout is best, or that something uses which is not known, are left out.
    Raises LayoutError where the text is no TTGIR, or the target has memory that is not known.
    """
    module = read_module(text)
    goal = target or module.target
    found = [
        choice
        for value, group in _buffers(module, goal).items()
        if (choice := _better(module, value, group, goal)) is not None
    ]
    return sorted(found, key=lambda choice: -choice.heat)


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
        if (made.addresses % width).any():
            return False
        if part[0].kind != COPY:
            return True
        wide_enough = width >= max(4, owns.instruction.width)
        return wide_enough and (not machines.is_amd(self.target) or _are_neighbours(made))


def _are_neighbours(made: Issues) -> bool:
    """Whether the lanes of each wave write one after the other, as copies past registers do."""
    steps = np.diff(made.addresses, axis=-1)
    return bool((steps == made.instruction.width).all())


def _buffers(module: Module, target: str) -> dict[str, list[Access]]:
    """The accesses of each buffer that only what is known here uses."""
    groups: dict[str, list[Access]] = {}
    known: set[int] = set()
    for access in accesses(module, target):
        groups.setdefault(module.origin(access.value), []).append(access)
        known.add(access.operation.line)
    unknown = {
        module.origin(value)
        for operation in module.operations
        if operation.line not in known and operation.name not in _VIEWS
        for value in operation.operands
    }
    return {
        value: group
        for value, group in groups.items()
        if value not in unknown and all(access.use is not None for access in group)
    }


def _better(module: Module, value: str, group: list[Access], target: str) -> Choice | None:
    allocated = _allocated(module, value)
    if allocated is None:
        return None
    own = encoding_in(module, allocated)
    parts = list(_parts(own, group))
    if len(parts) != len(group):
        return None
    shape = allocated.shape[-2:]
    bits = parts[0].use.bits
    best, before, after = cheapest(own, parts, shape, bits, target)
    if best == own:
        return None
    aliases = {
        alias_of(access.memory_type): turned(best) if part.turned else best
        for access, part in zip(group, parts, strict=True)
    } | {alias_of(allocated): best}
    return Choice(
        buffer=group[0].buffer,
        value=value,
        shape=shape,
        bits=bits,
        own=own,
        best=best,
        before=before,
        after=after,
        heat=sum(part.use.bytes * part.trips for part in parts),
        replacements=tuple(
            (alias, written(encoding)) for alias, encoding in aliases.items() if alias
        ),
    )


def _allocated(module: Module, value: str) -> MemoryType | None:
    for operation in module.operations:
        if value in operation.results and operation.name == "ttg.local_alloc":
            return next(type_ for type_ in operation.types if isinstance(type_, MemoryType))
    return None


def _parts(own: Encoding, group: list[Access]) -> Iterator[Part]:
    """The uses whose layout is the buffer's own, or that turned; others are left out."""
    for access in group:
        assert access.use is not None
        loops = access.operation.loops
        trips = prod(ASSUMED_TRIPS if loop.trips is None else loop.trips for loop in loops)
        if access.memory == own:
            yield Part(access.use, trips)
        elif len(access.memory_type.shape) == 2 and access.memory == turned(own):
            yield Part(access.use, trips, turned=True)
