"""The registers through which a tile passes from one shared memory to another.

Hopper's wgmma reads elements of 8 and 32 bits along the summed dimension only. An operand whose
rows lie the other way is loaded to registers and stored turned round; Triton takes for both the
layout that is best for the load, and conflicts at every store.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .bits import rank
from .generic_linear import GenericLinear
from .linear import Basis, LinearLayout

# Of NVIDIA's shared memory: the bytes that all banks give at once, and of the widest access.
_LINE = 128
_WIDEST = 16
_WORD = 4
_LANES = 5


@dataclass(frozen=True)
class Traffic:
    """What a warp's accesses to one shared memory cost: instructions, and trips to the banks."""

    instructions: int
    wavefronts: int


@dataclass(frozen=True)
class Passage:
    """A layout of registers, and what the load into them and the store from them cost."""

    registers: GenericLinear
    load: Traffic
    store: Traffic

    @property
    def cost(self) -> tuple[int, int]:
        """What is compared: trips to the banks, then instructions."""
        wavefronts = self.load.wavefronts + self.store.wavefronts
        return wavefronts, self.load.instructions + self.store.instructions


def traffic(registers: LinearLayout, memory: LinearLayout, element_bits: int) -> Traffic:
    """The cost of moving a tile between registers and a shared memory of NVIDIA's."""
    places = registers.after_inverse_of(memory)
    at = places.output_names.index("offset")
    own = [basis[at] for basis in places.bases("register")]
    lanes = [basis[at] for basis in places.bases("lane")]
    low = _consecutive(own, element_bits)
    elements = 1 << len(own)
    return _traffic(elements, 1 << low, lanes, element_bits)


def best_passage(
    source: LinearLayout, target: LinearLayout, element_bits: int, warps: int
) -> Passage | None:
    """The registers with the fewest trips to the banks for a load and a store of the whole tile.

    `source` and `target` go from offsets to the coordinates of a tile. None where the warps have
    more threads than the tile has elements.
    """
    return min(
        _passages(source, target, element_bits, warps),
        key=lambda passage: (*passage.cost, passage.registers.lanes),
        default=None,
    )


def _passages(
    source: LinearLayout, target: LinearLayout, element_bits: int, warps: int
) -> Iterator[Passage]:
    """The best of each choice of elements that a thread has in a row, in both memories."""
    target = target.with_outputs(source.output_names)
    sides = [_Side.of(memory, element_bits) for memory in (source, target)]
    bits = [_unit(place, bit, source) for place, bit in _all_bits(source)]
    free = len(bits) - _LANES - (warps.bit_length() - 1)
    widest = (_WIDEST * 8 // element_bits).bit_length() - 1
    for widths in itertools.product(range(widest + 1), repeat=2):
        own = {
            basis for side, width in zip(sides, widths, strict=True) for basis in side.row(width)
        }
        if len(own) > free or not own <= set(bits):
            continue
        rest = [basis for basis in bits if basis not in own]
        yield _best_lanes(sides, widths, own, rest, free, warps)


def _best_lanes(
    sides: Sequence["_Side"],
    widths: Sequence[int],
    own: set[Basis],
    rest: list[Basis],
    free: int,
    warps: int,
) -> Passage:
    """Choose lanes among `rest`, the first ones of which are served together."""
    best: tuple[int, tuple[Basis, ...]] | None = None

    def extend(chosen: tuple[Basis, ...]) -> None:
        nonlocal best
        cost = sum(
            side.wavefronts(width, 1 << free, chosen)
            for side, width in zip(sides, widths, strict=True)
        )
        # Conflicts only grow with the lanes.
        if best is not None and cost >= best[0]:
            return
        if len(chosen) == _LANES:
            best = cost, chosen
            return
        for basis in rest:
            if basis not in chosen:
                extend((*chosen, basis))

    extend(())
    assert best is not None, "there are enough elements for the lanes"
    lanes = best[1]
    others = [basis for basis in rest if basis not in lanes]
    split = len(others) - (warps.bit_length() - 1)
    registers = (*sorted(own), *others[:split])
    load, store = (
        Traffic((1 << free) >> width, side.wavefronts(width, 1 << free, lanes))
        for side, width in zip(sides, widths, strict=True)
    )
    return Passage(GenericLinear(registers, lanes, tuple(others[split:])), load, store)


@dataclass(frozen=True)
class _Side:
    """A shared memory: the offset of each bit of a tile's coordinates, in elements."""

    offsets: dict[Basis, int]
    element_bits: int

    @classmethod
    def of(cls, memory: LinearLayout, element_bits: int) -> "_Side":
        every = tuple(_unit(place, bit, memory) for place, bit in _all_bits(memory))
        coordinates = LinearLayout((("bit", every),), memory.outputs)
        places = coordinates.after_inverse_of(memory)
        at = places.output_names.index("offset")
        return cls(
            {basis: image[at] for basis, image in zip(every, places.bases("bit"), strict=True)},
            element_bits,
        )

    def row(self, width: int) -> list[Basis]:
        """The bits of the coordinates that count the first 2**width elements in memory."""
        wanted = [1 << bit for bit in range(width)]
        return [basis for basis, offset in self.offsets.items() if offset in wanted]

    def wavefronts(self, width: int, elements: int, lanes: Sequence[Basis]) -> int:
        offsets = [self.offsets[basis] for basis in lanes]
        return _traffic(elements, 1 << width, offsets, self.element_bits).wavefronts


def _traffic(elements: int, vector: int, lanes: Sequence[int], element_bits: int) -> Traffic:
    """Of a thread's elements, `vector` of which it moves at once; `lanes` are offsets of bits."""
    width = vector * element_bits // 8
    size = max(width, _WORD)
    together = (_LINE // size).bit_length() - 1
    slots = [offset * element_bits // 8 // size for offset in lanes[:together]]
    banks = _LINE // size - 1
    # Slots that differ in higher bits only are different words of the same banks.
    conflicts = 1 << (rank(slots) - rank(slot & banks for slot in slots))
    instructions = max(1, elements // vector)
    return Traffic(instructions, instructions * (1 << (_LANES - together)) * conflicts)


def _consecutive(offsets: Sequence[int], element_bits: int) -> int:
    """How many bits of a thread's registers count elements in a row, 16 bytes at most."""
    widest = (_WIDEST * 8 // element_bits).bit_length() - 1
    count = 0
    while count < widest and 1 << count in offsets:
        count += 1
    return count


def _all_bits(memory: LinearLayout) -> Iterator[tuple[int, int]]:
    """The bits of all coordinates, the last dimension's first."""
    for place in reversed(range(len(memory.outputs))):
        for bit in range(memory.outputs[place][1].bit_length() - 1):
            yield place, bit


def _unit(place: int, bit: int, memory: LinearLayout) -> Basis:
    return tuple(1 << bit if axis == place else 0 for axis in range(len(memory.outputs)))
