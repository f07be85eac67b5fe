"""`tilelang.language.proxy`: annotations of parameters."""

from tile2triton.language import Buffer, FragmentBuffer, LocalBuffer, SharedBuffer, Tensor

__all__ = [
    "Buffer",
    "FragmentBuffer",
    "LocalBuffer",
    "SharedBuffer",
    "Tensor",
]
