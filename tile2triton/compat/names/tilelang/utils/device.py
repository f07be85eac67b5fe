"""`tilelang.utils.device`: this machine's device."""

from tile2triton.tilelang.device import get_current_device

__all__ = [
    "get_current_device",
]
