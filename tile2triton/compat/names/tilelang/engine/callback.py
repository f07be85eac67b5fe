"""`tilelang.engine.callback`: changes to the CUDA text, of which there is none."""

from tile2triton.tilelang.lowering import (
    register_c_postproc,
    register_cuda_postproc,
    register_cuda_postproc_callback,
    register_hip_postproc,
    register_hip_postproc_callback,
)

__all__ = [
    "register_c_postproc",
    "register_cuda_postproc",
    "register_cuda_postproc_callback",
    "register_hip_postproc",
    "register_hip_postproc_callback",
]
