"""`#ttg.padded_shared`: AMD's layouts that leave gaps after each so many elements."""

from dataclasses import dataclass

from .encoding import in_blocks, part_of_block
from .generic_linear import SharedLinear
from .linear import Bases, Indices, LinearLayout, identities


@dataclass(frozen=True)
class PaddedShared:
    """After each `interval` elements come `padding` more, for all pairs in `gaps`.

    Elements are in `order`, or where `offsets` puts them if it is given.
    """

    gaps: tuple[tuple[int, int], ...]
    order: tuple[int, ...] = ()
    offsets: Bases = ()
    blocks: Bases = ()
    # What TTGIR says beside an order; it changes nothing here.
    shape: tuple[int, ...] = ()

    def linear(self, shape: tuple[int, ...]) -> LinearLayout:
        """Where elements were without the gaps."""
        if self.offsets:
            return SharedLinear(self.offsets, self.blocks).linear(shape)
        part = part_of_block(self.blocks, shape)
        return in_blocks(identities(part, "offset", self.order), self.blocks, shape)

    def padded(self, offsets: Indices) -> Indices:
        """Offsets with the gaps before them counted."""
        result = offsets.copy()
        for interval, padding in self.gaps:
            result += offsets // interval * padding
        return result
