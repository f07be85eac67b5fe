"""`tilelang.rocm.language.tir`: names without a meaning here."""

from tile2triton.tilelang.absent import THREADS, absent

globals().update(
    absent(
        "tilelang.rocm.language.tir",
        "tvm_mfma",
        THREADS,
    )
)
