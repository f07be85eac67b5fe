"""`tilelang.carver`: tile sizes chosen by the hardware."""

from tile2triton.tilelang.arch import CDNA, CUDA
from tile2triton.tilelang.carver import Hint, MatmulTemplate

__all__ = [
    "CDNA",
    "CUDA",
    "Hint",
    "MatmulTemplate",
]
