"""`tvm.tirx.op`: names without a meaning here."""

from tile2triton.tilelang.absent import COMPILER, absent

globals().update(
    absent(
        "tvm.tirx.op",
        "Op call_extern call_intrin",
        COMPILER,
    )
)
