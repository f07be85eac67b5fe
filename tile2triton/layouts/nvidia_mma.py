"""`#ttg.nvidia_mma`: results of mma.sync (version 2) and of wgmma (version 3)."""

from dataclasses import dataclass

from .encoding import in_blocks, operand_order, row_major, start, summed_axis
from .errors import layout_error
from .linear import Bases, LinearLayout, identities, identity


@dataclass(frozen=True)
class NvidiaMma:
    """`instruction` is the shape of one instruction: m × n, for version 3 followed by k."""

    version: int
    warps_per_block: tuple[int, ...]
    instruction: tuple[int, ...]
    blocks: Bases = ()

    def __post_init__(self) -> None:
        if self.version not in (2, 3):
            raise layout_error(
                "T2T924",
                f"products of version {self.version} are not known here",
                f"versionMajor = {self.version}",
                hint="mma.sync is version 2, wgmma is version 3",
            )

    @property
    def warp_order(self) -> tuple[int, ...]:
        """The dimensions along which warps count, the fastest first."""
        rank = len(self.warps_per_block)
        return tuple(range(rank)) if self.version == 3 else row_major(rank)

    def linear(self, shape: tuple[int, ...]) -> LinearLayout:
        rank = len(shape)
        sizes = self.instruction[:2] if self.version == 3 else self.instruction[-2:]
        order = row_major(rank)
        tile = mma_tile(sizes, 2, order) * identities(self.warps_per_block, "warp", self.warp_order)
        return in_blocks(tile, self.blocks, shape)

    def operand(self, index: int, k_width: int, shape: tuple[int, ...]) -> LinearLayout:
        """The layout of an operand in registers; lanes hold `k_width` elements along k."""
        rank = len(shape)
        sizes = (16, 8 * k_width) if index == 0 else (8 * k_width, 8)
        tile = mma_tile(sizes, k_width, operand_order(index, rank)) * identities(
            self.warps_per_block, "warp", self.warp_order, constant=summed_axis(index, rank)
        )
        return in_blocks(tile, self.blocks, shape)


def mma_tile(sizes: tuple[int, ...], width: int, order: tuple[int, ...]) -> LinearLayout:
    """The elements of one instruction: 8 rows of 4 lanes, each with `width` along `order[0]`."""
    rank = len(order)
    inner, outer = f"dim{order[0]}", f"dim{order[1]}"
    shape = {f"dim{rank - 2}": sizes[0], f"dim{rank - 1}": sizes[1]}
    return (
        start(rank, order)
        * identity(width, "register", inner)
        * identity(4, "lane", inner)
        * identity(8, "lane", outer)
        * identity(shape[outer] // 8, "register", outer)
        * identity(shape[inner] // (width * 4), "register", inner)
    )
