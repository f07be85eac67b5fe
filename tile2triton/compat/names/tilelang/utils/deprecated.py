"""`tilelang.utils.deprecated`: a mark for old functions."""

from tile2triton.tilelang.deprecation import deprecated

__all__ = [
    "deprecated",
]
