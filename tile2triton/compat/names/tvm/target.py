"""`tvm.target`: targets."""

from tile2triton.tilelang.target import Target

__all__ = [
    "Target",
]
