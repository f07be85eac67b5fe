"""Which instructions a load or store of registers becomes, and the addresses of each issue.

The choice is that of Triton 3.6 and 3.9: matrix instructions where registers and lanes fit them,
else the widest vectors.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np

from . import machines
from .conflicts import Instruction
from .linear import Indices, bits_of
from .padded_shared import PaddedShared
from .placement import Placement, combinations

_MOST_BYTES = 16
_Bits: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class Issues:
    """An instruction and the addresses of all its accesses; axes are accesses, warps, lanes.

    `count` is the number of instructions of one warp. A matrix instruction makes an access for
    each of its matrices.
    """

    instruction: Instruction
    addresses: Indices
    count: int

    @property
    def warps(self) -> int:
        return int(self.addresses.shape[1])

    @property
    def is_aligned(self) -> bool:
        """Whether all addresses are multiples of the bytes that an access moves."""
        return not (self.addresses % self.instruction.width).any()

    @property
    def total(self) -> int:
        """Instructions of all warps."""
        return self.count * self.warps

    @property
    def ideal(self) -> int:
        return int(prod(self.addresses.shape[:-1])) * self.instruction.ideal

    @property
    def simulated(self) -> int:
        return int(self.instruction.wavefronts(self.addresses).sum())


def loads(placement: Placement, target: str) -> Issues:
    """How a tensor comes from shared memory into registers."""
    found = None
    if target == "hip:gfx950":
        found = _transposing(placement)
    elif not machines.is_amd(target) and machines.capability(target) >= 75:
        found = _matrices(placement, "ldmatrix")
    return found or _vectors(placement, target, machines.load)


def stores(placement: Placement, target: str) -> Issues:
    """How a tensor goes from registers into shared memory."""
    found = None
    if not machines.is_amd(target) and machines.capability(target) >= 90:
        found = _matrices(placement, "stmatrix")
    return found or _vectors(placement, target, machines.store)


def copies(placement: Placement, target: str, contiguity: int) -> Issues:
    """How global memory goes into shared memory past registers, so many elements at a time."""
    most = contiguity * placement.bits // 8
    return _vectors(placement, target, machines.copy_from_global, most)


def _vectors(
    placement: Placement,
    target: str,
    instruction: Callable[[str, int, int], Instruction],
    most: int = _MOST_BYTES,
) -> Issues:
    together = vector_bits(placement, most)
    width = max(1, (1 << len(together)) * placement.bits // 8)
    rest = combinations(_others(placement, together))
    lanes = range(placement.offsets.input_size("lane"))
    return Issues(
        instruction(target, width, placement.bits), placement.addresses(rest, lanes), len(rest)
    )


def vector_bits(placement: Placement, most: int = _MOST_BYTES) -> _Bits:
    """The bits of register numbers that hold neighbours in memory, as wide as can be."""
    limit = max(1, min(most, _MOST_BYTES) * 8 // placement.bits)
    if isinstance(placement.memory, PaddedShared):
        limit = min(limit, *(interval for interval, _ in placement.memory.gaps))
    registers = placement.images("register")
    together: list[int] = []
    for bit in bits_of(limit):
        if 1 << bit not in registers:
            break
        together.append(registers.index(1 << bit))
    while together:
        held = [("register", bit) for bit in together]
        if placement.clear_below(len(together), held):
            break
        together.pop()
    return tuple(together)


def _others(placement: Placement, taken: _Bits) -> list[int]:
    return [bit for bit, _ in enumerate(placement.images("register")) if bit not in taken]


def _matrices(placement: Placement, name: str) -> Issues | None:
    """Matrices of eight rows of 16 bytes; None where registers and lanes do not fit them."""
    if isinstance(placement.memory, PaddedShared):
        return None
    return _upright(placement, name) or _turned(placement, name)


def _upright(placement: Placement, name: str) -> Issues | None:
    """Four lanes have a row, each 4 bytes of it."""
    if placement.bits > 32:
        return None
    inside = len(bits_of(32 // placement.bits))
    registers, lanes = placement.images("register"), placement.images("lane")
    wanted = [1 << bit for bit in range(inside)]
    if any(offset not in registers for offset in wanted):
        return None
    if lanes[:2] != (1 << inside, 2 << inside):
        return None
    packed = tuple(registers.index(offset) for offset in wanted)
    held = [*(("register", bit) for bit in packed), ("lane", 0), ("lane", 1)]
    if not placement.clear_below(inside + 2, held):
        return None
    rest = combinations(_others(placement, packed))
    return _matrix_issues(name, False, placement.addresses(rest, range(0, 32, 4)))


def _turned(placement: Placement, name: str) -> Issues | None:
    """Four lanes have a column, each two elements of it; the groups of four go along a row."""
    registers, lanes = placement.images("register"), placement.images("lane")
    if placement.bits != 16 or not registers or lanes[2:] != (1, 2, 4):
        return None
    if not placement.clear_below(3, [("lane", 2), ("lane", 3), ("lane", 4)]):
        return None
    rest = combinations(_others(placement, (0,)))
    # Rows of a matrix are the columns of the lanes: of lanes 0 to 3 the first register, then the
    # second one.
    rows = [placement.addresses([at | half for at in rest], range(4)) for half in (0, 1)]
    return _matrix_issues(name, True, np.concatenate(rows, axis=-1))


def _matrix_issues(name: str, transposed: bool, addresses: Indices) -> Issues:
    accesses = len(addresses)
    at_once = min(4, accesses)
    instruction = machines.matrices(name, at_once, transposed)
    return Issues(instruction, addresses, accesses // at_once)


def _transposing(placement: Placement) -> Issues | None:
    """gfx950's loads of 8 bytes whose elements are exchanged among 16 lanes."""
    if placement.bits not in (8, 16):
        return None
    inside = len(bits_of(64 // placement.bits))
    lanes, registers = placement.images("lane"), placement.images("register")
    if len(lanes) < 6 or len(registers) < inside:
        return None
    if lanes[:inside] != tuple(1 << bit for bit in range(inside)):
        return None
    if not placement.clear_below(inside, [("lane", bit) for bit in range(inside)]):
        return None
    return _transposing_issues(placement, inside)


def _transposing_issues(placement: Placement, inside: int) -> Issues:
    """The registers of one load become what lanes hold in memory, and lanes what registers do."""
    rest = combinations(_others(placement, tuple(range(inside))))
    groups = [lane for lane in range(64) if not lane & ((1 << inside) - 1)]
    packed = [
        placement.addresses([at | number for at in rest], groups) for number in range(1 << inside)
    ]
    # Sixteen lanes read what sixteen lanes get: a piece for each of their registers and groups.
    pieces = np.stack(packed, axis=-1)
    addresses = pieces.reshape(*pieces.shape[:2], -1)
    return Issues(machines.transposing_load(placement.bits), addresses, len(rest))
