"""`tilelang.carver.roller`: proposals of tiles."""

from tile2triton.tilelang.carver import (
    Hint,
    NoRasterization,
    Rasterization,
    Rasterization2DColumn,
    Rasterization2DRow,
)

__all__ = [
    "Hint",
    "NoRasterization",
    "Rasterization",
    "Rasterization2DColumn",
    "Rasterization2DRow",
]
