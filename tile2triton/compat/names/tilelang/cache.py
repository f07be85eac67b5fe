"""`tilelang.cache`: kernels that are kept."""

from tile2triton.tilelang.jit import compile

__all__ = [
    "compile",
]

cached = compile
