"""`tilelang.rocm.intrinsics`: code for single threads."""

from . import mfma_layout, mfma_macro_generator, utils

__all__ = ["mfma_layout", "mfma_macro_generator", "utils"]
