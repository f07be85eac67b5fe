"""`tvm.te`: names without a meaning here."""

from tile2triton.tilelang.absent import COMPILER, absent

globals().update(
    absent(
        "tvm.te",
        "placeholder compute reduce_axis",
        COMPILER,
    )
)
