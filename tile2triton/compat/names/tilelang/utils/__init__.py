"""`tilelang.utils`: inputs, comparisons, devices."""

from tile2triton.supply import TensorSupplyType
from tile2triton.tilelang.closeness import torch_assert_close
from tile2triton.tilelang.deprecation import deprecated

__all__ = [
    "TensorSupplyType",
    "deprecated",
    "torch_assert_close",
]
