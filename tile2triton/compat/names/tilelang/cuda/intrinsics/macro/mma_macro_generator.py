"""`tilelang.cuda.intrinsics.macro.mma_macro_generator`: names without a meaning here."""

from tile2triton.tilelang.absent import THREADS, absent

globals().update(
    absent(
        "tilelang.cuda.intrinsics.macro.mma_macro_generator",
        """
    INT4TensorCoreIntrinEmitter TensorCoreIntrinEmitter
    TensorCoreIntrinEmitterWithLadderTransform
    """,
        THREADS,
    )
)
