"""The operators of the language, by the name that a kernel writes after `T.`."""

from tile2triton.ops import (
    alloc,
    atomic_add,
    bits,
    cast,
    constants,
    copy,
    division,
    extrema,
    fill,
    gemm,
    hints,
    kernel,
    loops,
    math,
    reduce,
    rounding,
    select,
    static_assert,
)
from tile2triton.ops.base import Operator

FAMILIES = (
    kernel,
    alloc,
    loops,
    copy,
    fill,
    gemm,
    reduce,
    atomic_add,
    select,
    math,
    rounding,
    extrema,
    division,
    constants,
    cast,
    bits,
    hints,
    static_assert,
)

OPERATORS: dict[str, Operator] = {
    name: operator
    for family in FAMILIES
    for operator in family.OPERATORS
    for name in (operator.name, *operator.aliases)
}
