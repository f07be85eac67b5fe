"""`tvm.script.parser.tir`: names without a meaning here."""

from tile2triton.tilelang.absent import COMPILER, absent

globals().update(
    absent(
        "tvm.script.parser.tir",
        "prim_func Buffer",
        COMPILER,
    )
)
