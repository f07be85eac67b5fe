"""`tilelang.language.fp8`: the 8-bit floats of this machine's GPU."""

from tile2triton.tilelang.dtype_questions import determine_fp8_type, determine_torch_fp8_type

__all__ = [
    "determine_fp8_type",
    "determine_torch_fp8_type",
]
