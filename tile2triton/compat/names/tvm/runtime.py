"""`tvm.runtime`: names without a meaning here."""

from tile2triton.tilelang.absent import COMPILER, absent

globals().update(
    absent(
        "tvm.runtime",
        "Module NDArray cuda",
        COMPILER,
    )
)
