"""`tvm`: the few names of TVM that programs for TileLang use."""

from tile2triton.diagnostics import TileError
from tile2triton.frontend.dtypes import DType
from tile2triton.tilelang.absent import COMPILER, Absent

from . import arith, error, ir, runtime, script, target, te, testing, tirx, tl, transform

DataType = DType
TVMError = TileError
IRModule = Absent("tvm.IRModule", COMPILER)

__all__ = [
    "DataType",
    "IRModule",
    "TVMError",
    "arith",
    "error",
    "ir",
    "runtime",
    "script",
    "target",
    "te",
    "testing",
    "tirx",
    "tl",
    "transform",
]
