"""`tilelang.cuda.language.intrinsics`: names without a meaning here."""

from tile2triton.tilelang.absent import THREADS, absent

globals().update(
    absent(
        "tilelang.cuda.language.intrinsics",
        """
    TensorCoreIntrinEmitter TensorCoreIntrinEmitterSM120 WGMMATensorCoreIntrinEmitter
    TCGEN05TensorCoreIntrinEmitter get_swizzle_layout
    """,
        THREADS,
    )
)
