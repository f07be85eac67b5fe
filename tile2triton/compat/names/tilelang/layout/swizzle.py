"""`tilelang.layout.swizzle`: makers of layouts, which are hints."""

from tile2triton.tilelang.layouts import FRAGMENTS, LAYOUTS

globals().update(LAYOUTS)
globals().update(FRAGMENTS)

__all__ = [*LAYOUTS, *FRAGMENTS]
