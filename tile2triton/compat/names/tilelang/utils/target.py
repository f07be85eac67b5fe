"""`tilelang.utils.target`: targets."""

from tile2triton.tilelang.device import check_cuda_availability, check_hip_availability
from tile2triton.tilelang.target import (
    determine_target,
    target_is_cdna,
    target_is_cuda,
    target_is_gfx950,
    target_is_hip,
)

__all__ = [
    "check_cuda_availability",
    "check_hip_availability",
    "determine_target",
    "target_is_cdna",
    "target_is_cuda",
    "target_is_gfx950",
    "target_is_hip",
]
