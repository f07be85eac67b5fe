"""`tilelang.tileop.gemm.registry`: names without a meaning here."""

from tile2triton.tilelang.absent import COMPILER, absent

globals().update(
    absent(
        "tilelang.tileop.gemm.registry",
        "resolve_gemm_impl register_gemm_impl",
        COMPILER,
    )
)
