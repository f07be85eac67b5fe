"""`tilelang.cuda.intrinsics.macro.mma_sm120_macro_generator`: names without a meaning here."""

from tile2triton.tilelang.absent import THREADS, absent

globals().update(
    absent(
        "tilelang.cuda.intrinsics.macro.mma_sm120_macro_generator",
        "SM120BlockScaleTile",
        THREADS,
    )
)
