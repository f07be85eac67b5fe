"""`tilelang.jit.kernel`: a kernel that is ready."""

from tile2triton.frontend.compiled import CompiledKernel

__all__ = [
    "CompiledKernel",
]

JITKernel = CompiledKernel
