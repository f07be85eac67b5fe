"""`tilelang.language.eager`: kernels and macros."""

from tile2triton.language import PrimFunc, Ref, const, macro, prim_func

__all__ = [
    "PrimFunc",
    "Ref",
    "const",
    "macro",
    "prim_func",
]
