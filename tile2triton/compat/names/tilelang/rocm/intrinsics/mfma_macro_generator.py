"""`tilelang.rocm.intrinsics.mfma_macro_generator`: names without a meaning here."""

from tile2triton.tilelang.absent import THREADS, absent

globals().update(
    absent(
        "tilelang.rocm.intrinsics.mfma_macro_generator",
        "MatrixCoreIntrinEmitter MatrixCorePreshuffleIntrinEmitter",
        THREADS,
    )
)
