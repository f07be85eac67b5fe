"""`#ttg.swizzled_shared`: rows whose groups of elements are exchanged by an XOR with the row."""

from dataclasses import dataclass

from .encoding import in_blocks, part_of_block
from .linear import Bases, LinearLayout, bits_of, identity


@dataclass(frozen=True)
class SwizzledShared:
    """Groups of `vec` elements of row r stand at group XOR (r / `per_phase` mod `max_phase`).

    `rotating` is AMD's `#ttg.amd_rotating_shared`, whose phases also change from one round of
    `max_phase` phases to the next.
    """

    vec: int
    per_phase: int
    max_phase: int
    order: tuple[int, ...]
    blocks: Bases = ()
    rotating: bool = False

    def linear(self, shape: tuple[int, ...]) -> LinearLayout:
        part = part_of_block(self.blocks, shape)
        if len(shape) == 1:
            return in_blocks(identity(part[0], "offset", "dim0"), self.blocks, shape)
        inner, outer = self.order[:2]
        columns, rows = part[inner], part[outer]
        bases = (
            *((0, 1 << bit) for bit in bits_of(columns)),
            *((1 << bit, self.vec * self._phase(1 << bit) % columns) for bit in bits_of(rows)),
        )
        tile = LinearLayout((("offset", bases),), ((f"dim{outer}", rows), (f"dim{inner}", columns)))
        for axis in self.order[2:]:
            tile *= identity(part[axis], "offset", f"dim{axis}")
        return in_blocks(tile, self.blocks, shape)

    def _phase(self, row: int) -> int:
        phase = row // self.per_phase % self.max_phase
        if self.rotating:
            phase ^= row // self.max_phase // self.per_phase % self.max_phase
        return phase
