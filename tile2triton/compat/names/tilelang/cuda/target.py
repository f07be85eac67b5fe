"""`tilelang.cuda.target`: targets."""

from tile2triton.tilelang.target import target_is_cuda

__all__ = [
    "target_is_cuda",
]
