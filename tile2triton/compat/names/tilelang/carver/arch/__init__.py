"""`tilelang.carver.arch`: what a GPU has."""

from tile2triton.tilelang.arch import (
    CDNA,
    CUDA,
    TileDevice,
    auto_infer_current_arch,
    get_arch,
    has_mma_support,
    is_ada_arch,
    is_ampere_arch,
    is_cdna_arch,
    is_cuda_arch,
    is_hopper_arch,
    is_volta_arch,
)

__all__ = [
    "CDNA",
    "CUDA",
    "TileDevice",
    "auto_infer_current_arch",
    "get_arch",
    "has_mma_support",
    "is_ada_arch",
    "is_ampere_arch",
    "is_cdna_arch",
    "is_cuda_arch",
    "is_hopper_arch",
    "is_volta_arch",
]
