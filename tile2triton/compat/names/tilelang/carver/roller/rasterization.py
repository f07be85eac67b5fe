"""`tilelang.carver.roller.rasterization`: the order of the blocks."""

from tile2triton.tilelang.carver import (
    NoRasterization,
    Rasterization,
    Rasterization2DColumn,
    Rasterization2DRow,
)

__all__ = [
    "NoRasterization",
    "Rasterization",
    "Rasterization2DColumn",
    "Rasterization2DRow",
]
