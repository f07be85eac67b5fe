"""`tilelang.jit.adapter.cutedsl.wrapper`: names without a meaning here."""

from tile2triton.tilelang.absent import COMPILER, absent

globals().update(
    absent(
        "tilelang.jit.adapter.cutedsl.wrapper",
        "TLCuTeDSLSourceWrapper",
        COMPILER,
    )
)
