"""`tilelang.tileop`: policies of products."""

from . import base

__all__ = ["base"]
