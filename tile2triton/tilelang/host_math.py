"""`tilelang.math`: whole numbers on the host."""

from __future__ import annotations


def cdiv(a: int, b: int) -> int:
    """The quotient, rounded up."""
    return (a + b - 1) // b


def next_power_of_2(x: int) -> int:
    """The least power of two that is not below `x`."""
    return 1 << (x - 1).bit_length()
