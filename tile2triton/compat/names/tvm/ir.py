"""`tvm.ir`: names without a meaning here."""

from tile2triton.tilelang.absent import COMPILER, absent

globals().update(
    absent(
        "tvm.ir",
        "assert_structural_equal structural_equal IRModule Op PointerType PrimType Range",
        COMPILER,
    )
)
