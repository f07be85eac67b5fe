"""`tvm.tirx.expr`: nodes of expressions."""

from tile2triton.tilelang.absent import COMPILER, absent
from tile2triton.tilelang.expressions import BufferLoad, Cast, FloatImm, IntImm, PrimExpr, Var

globals().update(absent("tvm.tirx.expr", "Add And Call Mul Not Or Sub", COMPILER))

__all__ = ["BufferLoad", "Cast", "FloatImm", "IntImm", "PrimExpr", "Var"]
