"""`tilelang.profiler`: compare and measure."""

from tile2triton.measure import do_bench
from tile2triton.supply import TensorSupplyType
from tile2triton.tilelang.profiler import Profiler

__all__ = [
    "Profiler",
    "TensorSupplyType",
    "do_bench",
]
