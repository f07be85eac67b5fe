"""`tilelang.cuda.intrinsics.layout.utils`: names without a meaning here."""

from tile2triton.tilelang.absent import THREADS, absent

globals().update(
    absent(
        "tilelang.cuda.intrinsics.layout.utils",
        "get_mma_micro_size",
        THREADS,
    )
)
