"""`tilelang.carver`: tile sizes for a matrix product, proposed by what they move and occupy."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Self

from tile2triton.frontend.dtypes import DType
from tile2triton.tilelang.arch import TileDevice, auto_infer_current_arch

ROWS = COLUMNS = (32, 64, 128, 256)
DEPTHS = (32, 64, 128)
STAGES = (2, 3, 4)
# Elements of the accumulator that a thread can hold without spilling.
LARGEST_SHARE = 128


class Rasterization:
    """In which order blocks take the tiles of the output."""

    def __init__(self, panel_width: int = 4) -> None:
        self.panel_width = panel_width


class NoRasterization(Rasterization):
    """Row by row."""


class Rasterization2DRow(Rasterization):
    """In panels of some rows."""


class Rasterization2DColumn(Rasterization):
    """In panels of some columns."""


@dataclass
class Hint:
    """One proposal: the tile of a block and of a warp, the step along the sum, the stages."""

    block: list[int]
    warp: list[int]
    rstep: list[int]
    pipeline_stage: int
    arch: TileDevice
    use_tc: bool = True
    rasterization_plan: Rasterization = field(default_factory=Rasterization2DColumn)

    @property
    def step(self) -> list[int]:
        return self.rstep


@dataclass
class MatmulTemplate:
    """A product of an M×K and a K×N matrix, for which tiles are proposed."""

    M: int
    N: int
    K: int
    trans_A: bool = False
    trans_B: bool = True
    in_dtype: Any = "float16"
    out_dtype: Any = "float16"
    accum_dtype: Any = "float16"
    with_bias: bool = False

    def __post_init__(self) -> None:
        self._arch: TileDevice | None = None

    @property
    def arch(self) -> TileDevice:
        return self._arch or auto_infer_current_arch()

    def with_arch(self, arch: TileDevice) -> Self:
        """The same template for a GPU."""
        self._arch = arch
        return self

    def has_arch(self) -> bool:
        return self._arch is not None

    def equivalent_function(self) -> Self:
        """What is computed: the product that the template describes."""
        return self

    def recommend_hints(self, topk: int = 10) -> list[Hint]:
        """The best proposals first. All fit the GPU's shared memory and registers."""
        ranked = sorted(_fitting(self), key=lambda hint: _cost(self, hint))
        return ranked[:topk]

    get_hardware_aware_configs = recommend_hints


def _fitting(template: MatmulTemplate) -> Iterator[Hint]:
    """Every combination that the GPU can run."""
    arch = template.arch
    size = DType(template.in_dtype).bits // 8
    for rows, columns, depth, stages in itertools.product(ROWS, COLUMNS, DEPTHS, STAGES):
        operands = (rows + columns) * depth * size * stages
        if operands > arch.max_smem_usage or rows > 2 * template.M or columns > 2 * template.N:
            continue
        for warps in (4, 8):
            if rows * columns > LARGEST_SHARE * warps * arch.warp_size:
                continue
            down, across = (2, warps // 2) if rows >= columns else (warps // 2, 2)
            if rows // down >= 16 and columns // across >= 8:
                warp = [rows // down, columns // across]
                yield Hint([rows, columns], warp, [depth], stages, arch)


def _cost(template: MatmulTemplate, hint: Hint) -> tuple[float, int, int]:
    """What is read, over the part of the GPU that works; then fewer, longer steps."""
    rows, columns = hint.block
    tiles = math.ceil(template.M / rows) * math.ceil(template.N / columns)
    waves = math.ceil(tiles / hint.arch.compute_max_core)
    busy = tiles / (waves * hint.arch.compute_max_core)
    read = tiles * (rows + columns) * template.K
    return read / busy, -hint.rstep[0], hint.pipeline_stage
