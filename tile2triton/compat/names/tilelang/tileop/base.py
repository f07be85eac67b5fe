"""`tilelang.tileop.base`: how warps share a product."""

from tile2triton.language import GemmWarpPolicy

__all__ = [
    "GemmWarpPolicy",
]
