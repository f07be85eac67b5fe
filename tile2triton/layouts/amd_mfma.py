"""`#ttg.amd_mfma`: results of AMD's matrix instructions, 16 × 16 and 32 × 32."""

from dataclasses import dataclass

from .encoding import (
    dimensions,
    in_blocks,
    operand_order,
    part_of_block,
    row_major,
    start,
    summed_axis,
)
from .errors import layout_error
from .linear import Bases, LinearLayout, identities, identity

_LANES = 64


@dataclass(frozen=True)
class AmdMfma:
    """`transposed` results have four neighbours of a row, and not of a column, in one lane."""

    version: int
    warps_per_block: tuple[int, ...]
    instruction: tuple[int, ...]
    transposed: bool
    tiles_per_warp: tuple[int, ...] = ()
    element_bits: int = 32
    blocks: Bases = ()

    def __post_init__(self) -> None:
        if self.instruction[:2] not in ((16, 16), (32, 32)):
            raise layout_error(
                "T2T924",
                "matrix instructions of this shape are not known here",
                f"instrShape = {list(self.instruction)}",
                hint="16 by 16 and 32 by 32 are known",
            )

    @property
    def _tiles(self) -> tuple[int, ...]:
        return self.tiles_per_warp or (1,) * len(self.warps_per_block)

    def linear(self, shape: tuple[int, ...]) -> LinearLayout:
        rank = len(shape)
        side = self.instruction[0]
        column, row = (rank - 2, rank - 1) if self.transposed else (rank - 1, rank - 2)
        height = 1 if self.element_bits == 64 else 4
        parts = _LANES // side
        tile = (
            start(rank, row_major(rank))
            * identity(height, "register", f"dim{row}")
            * identity(side, "lane", f"dim{column}")
            * identity(parts, "lane", f"dim{row}")
            * identity(side // (height * parts), "register", f"dim{row}")
        )
        # Dimensions one after the other: first the tiles of a warp, then those of other warps,
        # then all of that again.
        sizes = dict(zip(dimensions(shape), part_of_block(self.blocks, shape), strict=True))
        for axis in row_major(rank):
            name = f"dim{axis}"
            tile *= identity(self._tiles[axis], "register", name)
            tile *= identity(self.warps_per_block[axis], "warp", name)
            tile *= identity(max(1, sizes[name] // tile.output_size(name)), "register", name)
        return in_blocks(tile, self.blocks, shape)

    def operand(self, index: int, k_width: int, shape: tuple[int, ...]) -> LinearLayout:
        """The layout of an operand in registers; lanes hold `k_width` elements along k."""
        rank = len(shape)
        summed = summed_axis(index, rank)
        other = 2 * rank - 3 - summed
        inner, outer = f"dim{summed}", f"dim{other}"
        side = self.instruction[0]
        step = k_width * (_LANES // side)
        tile = (
            start(rank, operand_order(index, rank))
            * identity(k_width, "register", inner)
            * identity(side, "lane", outer)
            * identity(_LANES // side, "lane", inner)
            * identity(max(1, shape[summed] // step), "register", inner)
            * identity(self._tiles[other], "register", outer)
            * identities(self.warps_per_block, "warp", row_major(rank), constant=summed)
        )
        return in_blocks(tile, self.blocks, shape)
