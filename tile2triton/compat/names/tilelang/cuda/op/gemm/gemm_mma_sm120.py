"""`tilelang.cuda.op.gemm.gemm_mma_sm120`: names without a meaning here."""

from tile2triton.tilelang.absent import COMPILER, absent

globals().update(
    absent(
        "tilelang.cuda.op.gemm.gemm_mma_sm120",
        "GEMM_INST_MMA_BLOCK_SCALED GemmMMASm120BlockScaled",
        COMPILER,
    )
)
