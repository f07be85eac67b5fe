"""`tilelang.rocm.intrinsics.mfma_layout`: names without a meaning here."""

from tile2triton.tilelang.absent import THREADS, absent

globals().update(
    absent(
        "tilelang.rocm.intrinsics.mfma_layout",
        """
    shared_16x4_to_local_64x1_layout_A shared_16x16_to_local_64x4_layout_A
    shared_16x32_to_local_64x8_layout_A shared_16x64_to_local_64x16_layout_A
    """,
        THREADS,
    )
)
