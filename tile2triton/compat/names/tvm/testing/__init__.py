"""`tvm.testing`: marks for tests."""

from tile2triton.tilelang.testing import requires_cuda, requires_package

__all__ = ["requires_cuda", "requires_package"]
