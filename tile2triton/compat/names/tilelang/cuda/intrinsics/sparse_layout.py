"""`tilelang.cuda.intrinsics.sparse_layout`: names without a meaning here."""

from tile2triton.tilelang.absent import THREADS, absent

globals().update(
    absent(
        "tilelang.cuda.intrinsics.sparse_layout",
        """
    metadata_8bit_load_32x4_to_shared_16x4_layout_32bit
    metadata_16bit_load_32x2_to_shared_16x2_layout_32bit
    """,
        THREADS,
    )
)
