"""`tvm.tirx`: expressions, which are ours; statements of TIR are not here."""

from tile2triton.tilelang.absent import COMPILER, absent
from tile2triton.tilelang.expressions import (
    Buffer,
    BufferLoad,
    Cast,
    FloatImm,
    IntImm,
    Max,
    Min,
    PrimExpr,
    PrimFunc,
    Select,
    Var,
    all,
    any,
    const,
    reinterpret,
)

globals().update(
    absent(
        "tvm.tirx",
        """
        And BufferRegion Call Evaluate For IndexMap IterVar Not Or SeqStmt Shuffle Stmt
        StringImm call_extern call_intrin decl_buffer tvm_access_ptr transform
        """,
        COMPILER,
    )
)

__all__ = [
    "Buffer",
    "BufferLoad",
    "Cast",
    "FloatImm",
    "IntImm",
    "Max",
    "Min",
    "PrimExpr",
    "PrimFunc",
    "Select",
    "Var",
    "all",
    "any",
    "const",
    "reinterpret",
]
