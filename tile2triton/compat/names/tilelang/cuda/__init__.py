"""`tilelang.cuda`: NVIDIA's GPUs."""

from . import intrinsics, language, target

__all__ = ["intrinsics", "language", "target"]
