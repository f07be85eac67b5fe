"""`#ttg.dot_op`: an operand of a product in registers."""

from dataclasses import dataclass
from typing import TypeAlias

from .amd_mfma import AmdMfma
from .blocked import Blocked
from .encoding import in_blocks, summed_axis
from .linear import Bases, LinearLayout, identities
from .nvidia_mma import NvidiaMma

Parent: TypeAlias = NvidiaMma | AmdMfma | Blocked


@dataclass(frozen=True)
class DotOperand:
    """`index` is 0 for A and 1 for B; `parent` is the layout of the product."""

    index: int
    parent: Parent
    k_width: int = 0

    def linear(self, shape: tuple[int, ...]) -> LinearLayout:
        blocks = _blocks_of_operand(self.parent.blocks, summed_axis(self.index, len(shape)))
        if isinstance(self.parent, Blocked):
            return _scalar_operand(self.parent, self.index, blocks, shape)
        tile = self.parent.operand(self.index, self.k_width, shape)
        if not blocks:
            return tile
        return in_blocks(LinearLayout(tile.inputs[:3], tile.outputs), blocks, shape)


def _blocks_of_operand(blocks: Bases, summed: int) -> Bases:
    """Blocks do not share out the dimension that is summed over."""
    return tuple((*basis[:summed], 0, *basis[summed + 1 :]) for basis in blocks)


def _scalar_operand(
    parent: Blocked, index: int, blocks: Bases, shape: tuple[int, ...]
) -> LinearLayout:
    """For products without matrix instructions each thread has all that is summed over."""
    summed = summed_axis(index, len(shape))
    sizes = tuple(
        shape[axis] if axis == summed else size for axis, size in enumerate(parent.size_per_thread)
    )
    tile = (
        identities(sizes, "register", parent.order)
        * identities(parent.threads_per_warp, "lane", parent.order, constant=summed)
        * identities(parent.warps_per_block, "warp", parent.order, constant=summed)
    )
    return in_blocks(tile, blocks, shape)
