"""`tilelang.utils.tensor`: inputs and comparisons."""

from tile2triton.supply import TensorSupplyType
from tile2triton.tilelang.closeness import torch_assert_close
from tile2triton.tilelang.inputs import get_tensor_supply

__all__ = [
    "TensorSupplyType",
    "get_tensor_supply",
    "torch_assert_close",
]
