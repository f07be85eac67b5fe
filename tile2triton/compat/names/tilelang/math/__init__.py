"""`tilelang.math`: whole numbers on the host."""

from tile2triton.tilelang.host_math import cdiv, next_power_of_2

__all__ = [
    "cdiv",
    "next_power_of_2",
]
