"""`tilelang.cuda.intrinsics`: layouts, which are hints; code for single threads is not here."""

from tile2triton.tilelang.absent import THREADS, absent
from tile2triton.tilelang.layouts import LAYOUTS, get_swizzle_layout

make_mma_swizzle_layout = LAYOUTS["make_mma_swizzle_layout"]
globals().update(
    absent(
        "tilelang.cuda.intrinsics",
        "TensorCoreIntrinEmitter TensorCoreIntrinEmitterWithLadderTransform get_ldmatrix_offset",
        THREADS,
    )
)

__all__ = ["get_swizzle_layout", "make_mma_swizzle_layout"]
