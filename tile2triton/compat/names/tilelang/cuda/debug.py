"""`tilelang.cuda.debug`: names without a meaning here."""

from tile2triton.tilelang.absent import THREADS, absent

globals().update(
    absent(
        "tilelang.cuda.debug",
        "device_assert",
        THREADS,
    )
)
