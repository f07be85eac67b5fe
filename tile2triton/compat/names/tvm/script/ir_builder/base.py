"""`tvm.script.ir_builder.base`: names without a meaning here."""

from tile2triton.tilelang.absent import COMPILER, absent

globals().update(
    absent(
        "tvm.script.ir_builder.base",
        "IRBuilderFrame",
        COMPILER,
    )
)
