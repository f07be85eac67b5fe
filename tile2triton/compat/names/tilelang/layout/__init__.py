"""`tilelang.layout`: layouts, which are hints."""

from tile2triton.frontend.layouts import Fragment, Layout
from tile2triton.tilelang.layouts import FRAGMENTS, LAYOUTS, SwizzleMode

globals().update(LAYOUTS)
globals().update(FRAGMENTS)

__all__ = ["Fragment", "Layout", "SwizzleMode", *LAYOUTS, *FRAGMENTS]
