"""Ways to combine values in any order: their identities, and how Triton writes them."""

import ast
from dataclasses import dataclass

from rewrites.dtypes import BY_NAME, bits, is_float
from rewrites.quote import expr, literal
from rewrites.values import Value, cast, operands, summable, summed


@dataclass(frozen=True)
class Combination:
    """`along` reduces `x` (`at` names the axis); `pair` combines `a` and `b`."""

    name: str
    along: str
    pair: str


SUM = Combination("sum", "tl.sum(x{at})", "a + b")
MAX = Combination("max", "tl.max(x{at})", "tl.maximum(a, b)")
MIN = Combination("min", "tl.min(x{at})", "tl.minimum(a, b)")
BIT_OR = Combination("bitor", "tl.reduce_or(x{at})", "a | b")
BIT_XOR = Combination("bitxor", "tl.xor_sum(x{at})", "a ^ b")
# What is clear in either is set in neither.
BIT_AND = Combination("bitand", "~tl.reduce_or(~x{at})", "a & b")

COMBINATIONS = {row.name: row for row in (SUM, MAX, MIN, BIT_OR, BIT_XOR, BIT_AND)}


def identity(combination: Combination, dtype: str) -> int | float:
    """The number that changes no other one; for floats the infinities are the outermost."""
    row = BY_NAME[dtype]
    if combination in (MAX, MIN):
        if is_float(dtype):
            return float("inf") if combination is MIN else float("-inf")
        low, high = (0, 1) if dtype == "bool" else whole_limits(dtype)
        return high if combination is MIN else low
    if combination is BIT_AND:
        return 1 if dtype == "bool" else -1 if row.kind == "int" else 2**row.bits - 1
    return 0.0 if is_float(dtype) else 0


def whole_limits(dtype: str) -> tuple[int, int]:
    """The lowest and the largest number of an integer type."""
    row = BY_NAME[dtype]
    if row.kind == "uint":
        return 0, 2**row.bits - 1
    return -(2 ** (row.bits - 1)), 2 ** (row.bits - 1) - 1


def reduced(
    combination: Combination,
    tree: ast.expr,
    dtype: str,
    axis: int | None,
    axes: frozenset[int] = frozenset(),
) -> Value:
    """Elements of `dtype` combined along an axis (None: all), in that type."""
    at = "" if axis is None else f", axis={axis}"
    if combination is SUM:
        return summed(expr(SUM.along.format(at=at), x=summable(tree, dtype)), dtype, axes)
    if is_float(dtype):
        made = expr(combination.along.format(at=at), x=summable(tree, dtype))
        wide = bits(dtype) < 32
        return cast(Value(made, "float32" if wide else dtype, axes), dtype)
    if dtype == "bool":
        # Of conditions there are no maxima or bits in Triton, of numbers 0 and 1 there are.
        made = expr(combination.along.format(at=at), x=expr("x.to(tl.int32)", x=tree))
        if combination is BIT_AND:
            made = expr("x & 1", x=made)
        return Value(expr("x != 0", x=made), dtype, axes)
    if combination in (MAX, MIN):
        made = expr(combination.along.format(at=at), x=tree)
        return cast(Value(made, "int32" if bits(dtype) < 32 else dtype, axes), dtype)
    if axis is None:
        tree, at = expr("tl.ravel(x)", x=tree), ", axis=0"
    return Value(expr(combination.along.format(at=at), x=tree), dtype, axes)


def combined(combination: Combination, old: Value, new: Value, dtype: str) -> Value:
    """Two values of `dtype` combined, in that type."""
    computed = "float32" if dtype.startswith(("float8", "bfloat16")) else dtype
    if dtype == "bool" and combination in (MAX, MIN):
        # The larger of two truths is either, the smaller one both.
        combination = BIT_OR if combination is MAX else BIT_AND
    a, b = operands(old, new, computed)
    tree = expr(combination.pair, a=a.tree, b=b.tree)
    return cast(Value(tree, computed, old.axes | new.axes), dtype)


def neutral(combination: Combination, dtype: str) -> ast.expr:
    """The identity as a literal."""
    return literal(identity(combination, dtype))
