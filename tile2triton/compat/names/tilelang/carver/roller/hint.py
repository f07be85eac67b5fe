"""`tilelang.carver.roller.hint`: a proposal of tiles."""

from tile2triton.tilelang.carver import Hint

__all__ = [
    "Hint",
]
