"""`tilelang.engine.lower`."""

from tile2triton.tilelang.lowering import lower

__all__ = [
    "lower",
]
