"""`tilelang.jit`: kernels of functions."""

from tile2triton.frontend.compiled import CompiledKernel
from tile2triton.tilelang.jit import compile, jit, par_compile

__all__ = [
    "CompiledKernel",
    "compile",
    "jit",
    "par_compile",
]

JITKernel = CompiledKernel
