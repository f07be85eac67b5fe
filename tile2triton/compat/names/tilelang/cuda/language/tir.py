"""`tilelang.cuda.language.tir`: names without a meaning here."""

from tile2triton.tilelang.absent import THREADS, absent

globals().update(
    absent(
        "tilelang.cuda.language.tir",
        "ptx_wgmma_ss ptx_mma ptx_ldmatrix",
        THREADS,
    )
)
