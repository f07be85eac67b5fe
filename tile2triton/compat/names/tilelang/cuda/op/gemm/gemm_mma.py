"""`tilelang.cuda.op.gemm.gemm_mma`: names without a meaning here."""

from tile2triton.tilelang.absent import COMPILER, absent

globals().update(
    absent(
        "tilelang.cuda.op.gemm.gemm_mma",
        "GemmMMA",
        COMPILER,
    )
)
