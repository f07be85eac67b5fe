"""`tilelang.language.tir.exports`: names without a meaning here."""

from tile2triton.tilelang.absent import COMPILER, absent

globals().update(
    absent(
        "tilelang.language.tir.exports",
        """
    BACKEND_ONLY_TIR_EXPORTS CLASSIFIED_VENDOR_TIR_EXPORTS CUDA_ONLY_TIR_EXPORTS
    METAL_ONLY_TIR_EXPORTS ROCM_ONLY_TIR_EXPORTS SHARED_LEGACY_TIR_EXPORTS
    """,
        COMPILER,
    )
)
