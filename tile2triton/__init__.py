"""tile2triton: tile programs in, readable Triton out."""

from tile2triton.api import compile, jit, kernel, transpile
from tile2triton.diagnostics import Diagnostic, TileError
from tile2triton.frontend.compiled import CompiledKernel
from tile2triton.frontend.prim_func import PrimFunc, prim_func
from tile2triton.schedule import Schedule
from tile2triton.tune import autotune

Error = TileError
__version__ = "0.1.0"

__all__ = [
    "CompiledKernel",
    "Diagnostic",
    "Error",
    "PrimFunc",
    "Schedule",
    "TileError",
    "autotune",
    "compile",
    "jit",
    "kernel",
    "prim_func",
    "transpile",
]
