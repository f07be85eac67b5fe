"""`tilelang.profiler.bench`: measure."""

from tile2triton.measure import do_bench

__all__ = [
    "do_bench",
]
