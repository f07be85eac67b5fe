"""T.popcount, T.clz, T.__ffs: how many bits of a whole number are set, and where."""

import ast
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from rewrites.dtypes import BY_NAME, bits
from rewrites.errors import refuse
from rewrites.quote import expr
from rewrites.space import Space
from rewrites.values import Value, cast, strong
from tile2triton.ops.base import Operator
from tile2triton.reference.values import Value as Number
from tile2triton.reference.values import typed


def popcount(x: Any) -> Any:
    """How many bits are set, in the type of x.

    | form | meaning | Triton |
    |---|---|---|
    | `T.popcount(x)` | the number of ones | `libdevice.popc(x)` |
    """


def clz(x: Any) -> Any:
    """How many zeros stand before the first one bit, as int32; all of them for 0.

    | form | meaning | Triton |
    |---|---|---|
    | `T.clz(x)` | leading zeros | `libdevice.clz(x)` |
    """


def __ffs(x: Any) -> Any:
    """Which bit is the lowest that is set, counted from 1, as int32; 0 where none is.

    | form | meaning | Triton |
    |---|---|---|
    | `T.__ffs(x)` | the lowest one bit | `32 - libdevice.clz(x & -x)` |
    """


def _whole(space: Space, tree: ast.expr, node: ast.Call) -> tuple[Value, str]:
    """The operand's bits as a signed number of 32 or 64 bits, and its own type."""
    value = strong(space.value(tree))
    dtype, row = value.dtype, BY_NAME[value.dtype]
    if row.kind not in ("int", "uint"):
        raise refuse(
            node,
            "T2T322",
            f"`{ast.unparse(node)}` takes an integer",
            found=(f"`{ast.unparse(tree)}`: {value.dtype}",),
            hint="T.cast it to an integer, or T.reinterpret its bits",
        )
    if row.bits < 32 and row.kind == "int":
        # The bits of the sign must not be multiplied.
        unsigned = f"uint{row.bits}"
        pattern = expr(f"x.to(tl.{unsigned}, bitcast=True)", x=value.tree)
        value = Value(pattern, unsigned, value.axes)
    if row.bits < 32:
        return cast(value, "int32"), dtype
    if row.kind == "uint":
        pattern = expr(f"x.to(tl.int{row.bits}, bitcast=True)", x=value.tree)
        value = Value(pattern, f"int{row.bits}", value.axes)
    return value, dtype


def lower_popcount(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> Value:
    value, dtype = _whole(space, arguments["x"], node)
    return cast(Value(_ones(space, value), "int32", value.axes), dtype)


def lower_clz(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> Value:
    value, dtype = _whole(space, arguments["x"], node)
    tree = _leading_zeros(space, value)
    if bits(dtype) < 32:
        tree = expr("n - surplus", n=tree, surplus=ast.Constant(32 - bits(dtype)))
    return Value(tree, "int32", value.axes)


def lower_ffs(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> Value:
    value, _ = _whole(space, arguments["x"], node)
    # Of 0 there are as many leading zeros as bits.
    width = ast.Constant(bits(value.dtype))
    lowest = replace(value, tree=expr("x & -x", x=value.tree))
    tree = expr("width - zeros", width=width, zeros=_leading_zeros(space, lowest))
    return Value(tree, "int32", value.axes)


def _ones(space: Space, value: Value) -> ast.expr:
    """How many bits are set, as int32."""
    if not space.facts.target.startswith("hip"):
        return expr("libdevice.popc(x)", x=value.tree)
    # Triton 3.6 has no such function for AMD: neighbours are added, then pairs, then fours.
    width = bits(value.dtype)
    masks = {f"m{n}": ast.Constant(_repeated((1 << n) - 1, 2 * n, width)) for n in (1, 2, 4)}
    ones = space.lowering.assign("ones", _unsigned(value))
    for template in (
        "n - ((n >> 1) & m1)",
        "(n & m2) + ((n >> 2) & m2)",
        "(n + (n >> 4)) & m4",
    ):
        ones = space.lowering.assign("ones", expr(template, n=ones, **masks))
    each, top = ast.Constant(_repeated(1, 8, width)), ast.Constant(width - 8)
    return expr("(n * each >> top).to(tl.int32)", n=ones, each=each, top=top)


def _leading_zeros(space: Space, value: Value) -> ast.expr:
    """How many zeros stand before the first one bit of all 32 or 64, as int32."""
    if not space.facts.target.startswith("hip"):
        return expr("libdevice.clz(x)", x=value.tree)
    width = bits(value.dtype)
    filled = space.lowering.assign("filled", _unsigned(value))
    for step in (1, 2, 4, 8, 16, 32)[: width.bit_length() - 1]:
        tree = expr("n | (n >> step)", n=filled, step=ast.Constant(step))
        filled = space.lowering.assign("filled", tree)
    below = Value(filled, f"uint{width}", value.axes)
    return expr("width - ones", width=ast.Constant(width), ones=_ones(space, below))


def _unsigned(value: Value) -> ast.expr:
    if value.dtype.startswith("uint"):
        return value.tree
    return expr(f"x.to(tl.u{value.dtype}, bitcast=True)", x=value.tree)


def _repeated(pattern: int, step: int, width: int) -> int:
    return sum(pattern << at for at in range(0, width, step))


def _pattern(x: Number) -> tuple[Any, int]:
    x = typed(x)
    if x.dtype.kind not in "iu":
        raise TypeError(f"an integer is wanted, and this is a {x.dtype}")
    return np.asarray(x).view(f"u{x.dtype.itemsize}"), 8 * x.dtype.itemsize


def _counted(function: Callable[[int, int], int], keeps_type: bool) -> Callable[[Number], Number]:
    def reference(x: Number) -> Number:
        pattern, width = _pattern(x)
        dtype = typed(x).dtype if keeps_type else np.dtype(np.int32)
        each = np.vectorize(lambda number: function(int(number), width), otypes=[np.int64])
        return each(pattern).astype(dtype)[()]

    return reference


OPERATORS = (
    Operator(
        surface=popcount,
        lower=lower_popcount,
        kind="expression",
        reference=_counted(lambda number, width: number.bit_count(), True),
    ),
    Operator(
        surface=clz,
        lower=lower_clz,
        kind="expression",
        reference=_counted(lambda number, width: width - number.bit_length(), False),
    ),
    Operator(
        surface=__ffs,
        lower=lower_ffs,
        kind="expression",
        reference=_counted(lambda number, width: (number & -number).bit_length(), False),
    ),
)
