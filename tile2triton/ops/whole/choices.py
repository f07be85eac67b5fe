"""T.where, T.fma, T.cast, and operands of one value: T.full, T.zeros_like, T.ones_like."""

from typing import Any

import numpy as np

from rewrites.operands.terms import Extent, Size
from rewrites.operands.values import Making, Operand, Whole, is_whole
from tile2triton.ops.base import Operator, WholeForm
from tile2triton.reference import values


def where(condition: Any, a: Any, b: Any) -> Any:
    """`a` where the condition holds, else `b`; of whole operands, and of tiles."""


def fma(a: Any, b: Any, c: Any) -> Any:
    """`a * b + c`, rounded once."""


def cast(value: Any, dtype: Any) -> Any:
    """The operand rounded to another type; `x.to(d)` and `x.astype(d)` are the same."""


def full(shape: Any, value: Any, dtype: Any = "float32") -> Any:
    """An operand of one value; the shape is made of numbers and extents.

    In a kernel with T.Kernel, a new tile of it.
    """


def zeros(shape: Any, dtype: Any = "float32") -> Any:
    """An operand of zeros; the shape is made of numbers and extents.

    In a kernel with T.Kernel, a new tile of them.
    """


def full_like(x: Any, value: Any, dtype: Any = None) -> Any:
    """An operand of one value with the shape and, unless it is said, the type of `x`."""


def zeros_like(x: Any, dtype: Any = None) -> Any:
    """Zeros with the shape and, unless it is said, the type of `x`."""


def ones_like(x: Any, dtype: Any = None) -> Any:
    """Ones with the shape and, unless it is said, the type of `x`."""


def make_where(making: Making, condition: Operand, a: Operand, b: Operand) -> Whole:
    dtype = making.promoted((a, b))
    a, b = (making.as_integer(one, dtype) if is_whole(one) else one for one in (a, b))
    return making.pointwise("T.if_then_else", condition, a, b, dtype=dtype)


def make_fma(making: Making, a: Operand, b: Operand, c: Operand) -> Whole:
    return making.pointwise("+", making.pointwise("*", a, b), c)


def make_cast(making: Making, value: Operand, dtype: str) -> Whole:
    return making.cast(making.whole(value, "T.cast"), dtype)


def make_full(making: Making, shape: Any, value: Any, dtype: str = "float32") -> Whole:
    extents = shape if isinstance(shape, tuple) else (shape,)
    if not all(isinstance(one, int) and one > 0 for one in extents):
        raise making.refuse(
            "T2T830",
            f"an operand of one value has a shape of numbers and extents, not {shape!r}",
            hint="write T.full((x.shape[0], 16), 0.0), or T.full_like(x, 0.0)",
        )
    sizes = tuple(one.size if isinstance(one, Extent) else Size(one) for one in extents)
    number = value.plain if isinstance(value, Extent) else value
    return making.full(sizes, number, dtype)


def make_zeros(making: Making, shape: Any, dtype: str = "float32") -> Whole:
    return make_full(making, shape, 0, dtype)


def make_full_like(making: Making, x: Operand, value: Any, dtype: str | None = None) -> Whole:
    like = making.whole(x, "T.full_like")
    return making.full(like.shape, value, dtype or like.dtype)


def make_zeros_like(making: Making, x: Operand, dtype: str | None = None) -> Whole:
    return make_full_like(making, x, 0, dtype)


def make_ones_like(making: Making, x: Operand, dtype: str | None = None) -> Whole:
    return make_full_like(making, x, 1, dtype)


def reference_where(condition: Any, a: Any, b: Any) -> Any:
    return np.where(condition, a, b)


def reference_fma(a: Any, b: Any, c: Any) -> Any:
    return a * b + c


def reference_cast(value: Any, dtype: str) -> Any:
    rounded = values.cast(np.asarray(value), dtype)
    is_float = dtype.startswith(("float", "bfloat"))
    return rounded.astype(np.float64) if is_float else rounded


def reference_full(shape: Any, value: Any, dtype: str = "float32") -> Any:
    return reference_cast(np.full(shape, value), dtype)


def reference_zeros(shape: Any, dtype: str = "float32") -> Any:
    return reference_full(shape, 0, dtype)


def reference_full_like(x: Any, value: Any, dtype: str | None = None) -> Any:
    x = np.asarray(x)
    return np.full_like(x, value) if dtype is None else reference_full(x.shape, value, dtype)


def reference_zeros_like(x: Any, dtype: str | None = None) -> Any:
    return reference_full_like(x, 0, dtype)


def reference_ones_like(x: Any, dtype: str | None = None) -> Any:
    return reference_full_like(x, 1, dtype)


CAST = WholeForm(cast, make_cast, reference_cast)

OPERATORS = tuple(
    Operator(surface, "whole", whole=WholeForm(surface, make, reference, takes_extents=takes))
    for surface, make, reference, takes in (
        (where, make_where, reference_where, True),
        (fma, make_fma, reference_fma, True),
        (full, make_full, reference_full, True),
        (zeros, make_zeros, reference_zeros, True),
        (full_like, make_full_like, reference_full_like, False),
        (zeros_like, make_zeros_like, reference_zeros_like, False),
        (ones_like, make_ones_like, reference_ones_like, False),
    )
)
