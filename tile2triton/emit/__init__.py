"""Lowered kernels and their launches as the text of a stand-alone module."""

from tile2triton.emit.module import emit

__all__ = ["emit"]
