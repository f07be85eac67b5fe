"""`tvm.transform`: settings of passes."""

from tile2triton.tilelang.transform import PassContext

__all__ = [
    "PassContext",
]
