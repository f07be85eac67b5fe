"""`tvm.tirx.script.parser`: names without a meaning here."""

from tile2triton.tilelang.absent import COMPILER, absent

globals().update(
    absent(
        "tvm.tirx.script.parser",
        "prim_func Buffer",
        COMPILER,
    )
)
