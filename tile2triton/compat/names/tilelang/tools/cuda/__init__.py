"""`tilelang.tools.cuda`: profiling markers."""

from . import iket

__all__ = ["iket"]
