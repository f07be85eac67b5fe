"""The operators of the language, by the name that a kernel writes after `T.`."""

from tile2triton.ops import (
    alloc,
    asynchronous,
    atomic_add,
    barriers,
    atomic_extrema,
    bits,
    cast,
    constants,
    copy,
    division,
    exponentials,
    extrema,
    fill,
    gemm,
    hints,
    im2col,
    kernel,
    loops,
    reduce,
    reduce_bits,
    roots,
    rounding,
    scan,
    select,
    static_assert,
    threads,
    transpose,
    trigonometry,
    truth,
    view,
)
from tile2triton.ops.base import Operator

FAMILIES = (
    kernel,
    alloc,
    view,
    loops,
    copy,
    fill,
    gemm,
    reduce,
    reduce_bits,
    scan,
    truth,
    atomic_add,
    im2col,
    transpose,
    atomic_extrema,
    select,
    exponentials,
    trigonometry,
    roots,
    rounding,
    extrema,
    division,
    constants,
    cast,
    bits,
    hints,
    static_assert,
    asynchronous,
    barriers,
    threads,
)

OPERATORS: dict[str, Operator] = {
    name: operator
    for family in FAMILIES
    for operator in family.OPERATORS
    for name in (operator.name, *operator.aliases)
}
