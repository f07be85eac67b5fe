"""`tilelang.contrib.nvcc`: what the GPU can do."""

from tile2triton.tilelang.abilities import (
    have_bf16,
    have_fp8,
    have_fp16,
    have_int8,
    have_pdl,
    have_tensorcore,
    have_tma,
    is_hopper,
)
from tile2triton.tilelang.device import get_target_compute_version, parse_compute_version

__all__ = [
    "get_target_compute_version",
    "have_bf16",
    "have_fp8",
    "have_fp16",
    "have_int8",
    "have_pdl",
    "have_tensorcore",
    "have_tma",
    "is_hopper",
    "parse_compute_version",
]
