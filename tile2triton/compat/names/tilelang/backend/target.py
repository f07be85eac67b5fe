"""`tilelang.backend.target`: targets."""

from tile2triton.tilelang.target import determine_target

__all__ = [
    "determine_target",
]
