"""`tilelang.cpu`: the language by another name; Triton compiles for GPUs only."""

from . import language

__all__ = ["language"]
