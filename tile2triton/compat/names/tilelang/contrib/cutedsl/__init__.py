"""`tilelang.contrib.cutedsl`: names without a meaning here."""

from tile2triton.tilelang.absent import COMPILER, absent

globals().update(
    absent(
        "tilelang.contrib.cutedsl",
        "bf16 tcgen05_ld tcgen05_st",
        COMPILER,
    )
)
