"""`tilelang.language.tir.op`: names without a meaning here."""

from tile2triton.tilelang.absent import COMPILER, absent

globals().update(
    absent(
        "tilelang.language.tir.op",
        "call_intrin call_extern",
        COMPILER,
    )
)
