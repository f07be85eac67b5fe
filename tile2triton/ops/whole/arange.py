"""T.arange: the numbers of the elements along an extent."""

from typing import Any

import numpy as np

from rewrites.operands.terms import Extent, Size
from rewrites.operands.values import Indices, Making, Whole
from tile2triton.ops.base import Operator, WholeForm


def arange(n: Any) -> Any:
    """0, 1, 2, … below n, as an int32 operand of one dimension; `n` is a number or an extent.

    In a kernel with T.Kernel, the same as a tile.
    """


def make(making: Making, n: int) -> Whole:
    if not isinstance(n, int) or n < 1:
        raise making.refuse(
            "T2T826",
            f"T.arange takes an extent, not {n!r}",
            hint="write T.arange(x.shape[-1])",
        )
    size = n.size if isinstance(n, Extent) else Size(n)

    def at(indices: Indices) -> Any:
        return indices[0]

    return Whole((size,), "int32", at)


def reference(n: int) -> Any:
    return np.arange(n, dtype=np.int32)


OPERATORS = (
    Operator(arange, "whole", whole=WholeForm(arange, make, reference, takes_extents=True)),
)
