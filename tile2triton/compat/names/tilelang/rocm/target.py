"""`tilelang.rocm.target`: targets."""

from tile2triton.tilelang.device import check_hip_availability
from tile2triton.tilelang.target import target_is_cdna, target_is_gfx950, target_is_hip

__all__ = [
    "check_hip_availability",
    "target_is_cdna",
    "target_is_gfx950",
    "target_is_hip",
]
