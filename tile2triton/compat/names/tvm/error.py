"""`tvm.error`: what is wrong with a program."""

from tile2triton.diagnostics import TileError

__all__ = [
    "TileError",
]

InternalError = TVMError = TileError
