"""`tilelang.rocm.intrinsics.utils`: names without a meaning here."""

from tile2triton.tilelang.absent import THREADS, absent

globals().update(
    absent(
        "tilelang.rocm.intrinsics.utils",
        "get_mma_micro_size",
        THREADS,
    )
)
