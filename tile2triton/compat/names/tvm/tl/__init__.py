"""`tvm.tl`: TileLang by its former name."""

from . import language

__all__ = ["language"]
