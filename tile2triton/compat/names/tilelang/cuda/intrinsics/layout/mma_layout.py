"""`tilelang.cuda.intrinsics.layout.mma_layout`: layouts, which are hints."""

from tile2triton.tilelang.absent import THREADS, absent
from tile2triton.tilelang.layouts import LAYOUTS, get_swizzle_layout

make_mma_swizzle_layout = LAYOUTS["make_mma_swizzle_layout"]
globals().update(
    absent(
        "tilelang.cuda.intrinsics.layout.mma_layout",
        """
        mma_load_a_32x32_to_shared_16x64_layout shared_16x8_to_mma_32x4_layout_sr_a
        shared_16x16_to_mma_32x8_layout_sr_a shared_16x32_to_mma_32x16_layout_sr_a
        shared_16x8_to_mma_32x4_layout_sr_b shared_16x16_to_mma_32x8_layout_sr_b
        shared_16x32_to_mma_32x16_layout_sr_b
        """,
        THREADS,
    )
)

__all__ = ["get_swizzle_layout", "make_mma_swizzle_layout"]
