"""`tilelang.engine.param`: what a kernel takes."""

from tile2triton.tilelang.parameters import KernelParam

__all__ = [
    "KernelParam",
]
