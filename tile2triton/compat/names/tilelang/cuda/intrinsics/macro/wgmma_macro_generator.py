"""`tilelang.cuda.intrinsics.macro.wgmma_macro_generator`: names without a meaning here."""

from tile2triton.tilelang.absent import THREADS, absent

globals().update(
    absent(
        "tilelang.cuda.intrinsics.macro.wgmma_macro_generator",
        "compute_gmma_descriptor WGMMATensorCoreIntrinEmitter",
        THREADS,
    )
)
