"""`tilelang.engine`: kernels of functions, without a launcher in the way."""

from tile2triton.tilelang.lowering import (
    lower,
    register_c_postproc,
    register_cuda_postproc,
    register_hip_postproc,
)
from tile2triton.tilelang.parameters import KernelParam

__all__ = [
    "KernelParam",
    "lower",
    "register_c_postproc",
    "register_cuda_postproc",
    "register_hip_postproc",
]
