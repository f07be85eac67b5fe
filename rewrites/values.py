"""Typed Triton expressions, and the casts that make Triton's arithmetic agree with TileLang's."""

import ast
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from rewrites.dtypes import BY_NAME, bits, is_float, promoted
from rewrites.quote import expr, literal
from rewrites.tree import names_in

COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)


@dataclass(frozen=True)
class Value:
    """A Triton expression whose element type is `dtype`.

    `axes` are the positions of the iteration space that it varies over; a value that varies over
    any has the full rank, with extent 1 elsewhere. `weak` marks a Python number (a literal or a
    constexpr), which takes its type from the other operand in Triton. `number` is its value where
    it is known.
    """

    tree: ast.expr
    dtype: str
    axes: frozenset[int] = frozenset()
    weak: bool = False
    number: int | float | bool | None = None


def number(value: int | float | bool) -> Value:
    """A literal, typed as TileLang types it: int32 (int64 when it must) or float32."""
    if isinstance(value, bool):
        dtype = "bool"
    elif isinstance(value, int):
        dtype = "int32" if -(2**31) <= value < 2**31 else "int64"
    else:
        dtype = "float32"
    return Value(literal(value), dtype, weak=True, number=value)


def triton_dtype(dtype: str) -> ast.expr:
    return expr(f"tl.{BY_NAME[dtype].triton}")


def cast(value: Value, dtype: str) -> Value:
    """`value` converted to `dtype`; a literal that the context will type stays a literal."""
    if value.weak:
        if value.dtype == dtype:
            return value
        if value.number is not None and not is_float(dtype) and dtype != "bool":
            return _whole(value, int(value.number), dtype)
        if _is_same_kind_of_literal(value, dtype) and _keeps(value, dtype):
            return replace(_retype_literal(value, dtype), dtype=dtype)
        return Value(full(ast.Tuple([], ast.Load()), value.tree, dtype), dtype, value.axes)
    if value.dtype == dtype:
        return value
    tree = value.tree
    if dtype == "bool":
        wide = cast(value, "float32").tree if value.dtype.startswith("float8") else tree
        return Value(expr("wide != 0", wide=wide), dtype, value.axes)
    if _needs_float32(value.dtype, dtype):
        tree = expr("tree.to(tl.float32)", tree=tree)
    return Value(expr("tree.to(dtype)", tree=tree, dtype=triton_dtype(dtype)), dtype, value.axes)


def stored(value: Value, dtype: str) -> Value:
    """`value` for a place that rounds it to `dtype` itself: there a literal stays one."""
    if value.weak and value.number is not None and _is_same_kind_of_literal(value, dtype):
        if not is_float(dtype):
            return _whole(value, int(value.number), dtype)
        return replace(_retype_literal(value, dtype), dtype=dtype)
    return cast(value, dtype)


def summable(tree: ast.expr, dtype: str) -> ast.expr:
    """Elements of `dtype` as `tl.sum` takes them: fp8 has no sums."""
    return expr("x.to(tl.float32)", x=tree) if _is_fp8(dtype) else tree


def summed(tree: ast.expr, dtype: str, axes: frozenset[int] = frozenset()) -> Value:
    """A sum of `dtype` elements in that type; `tl.sum` leaves narrow types wider.

    It widens integers, and bfloat16 in Triton 3.6.
    """
    widened = bits(dtype) < 32 and dtype != "float16"
    if not widened:
        return Value(tree, dtype, axes)
    return cast(Value(tree, "float32" if is_float(dtype) else "int32", axes), dtype)


def collapsed(tree: ast.expr, dtype: str) -> ast.expr:
    """The one element of a tensor, or the one that is not 0, as a scalar of its type."""
    return summed(expr("tl.sum(x)", x=summable(tree, dtype)), dtype).tree


def _is_fp8(dtype: str) -> bool:
    return is_float(dtype) and bits(dtype) == 8


def strong(value: Value) -> Value:
    """`value` as a typed Triton value, never a Python number."""
    if not value.weak:
        return value
    shape = ast.Tuple([], ast.Load())
    return Value(full(shape, value.tree, value.dtype), value.dtype, value.axes)


def full(shape: ast.expr, value: ast.expr, dtype: str) -> ast.expr:
    """`tl.full`, which has no fp8 numbers other than 0."""
    if bits(dtype) == 8 and is_float(dtype):
        template = "tl.full(shape, value, tl.float32).to(dtype)"
    else:
        template = "tl.full(shape, value, dtype)"
    return expr(template, shape=shape, value=value, dtype=triton_dtype(dtype))


def named(value: Value) -> Value:
    """`value` for `name = value`, where Triton gives a Python number a type by its size."""
    if not value.weak:
        return value
    if value.number is None:
        keeps = value.dtype in ("int32", "float32", "bool")
    else:
        keeps = _triton_literal(value.number) == value.dtype
    return value if keeps else strong(value)


def _triton_literal(number: int | float | bool) -> str:
    """The type that Triton 3.6 to 3.9 give a Python number (`to_tensor`)."""
    if isinstance(number, bool):
        return "bool"
    if isinstance(number, float):
        return "float32"
    if -(2**31) <= number < 2**31:
        return "int32"
    if 2**31 <= number < 2**32:
        return "uint32"
    return "int64" if number < 2**63 else "uint64"


def chosen(value: Value) -> Value:
    """`value` for `tl.where`, beside a tensor of its type: Triton has no fp8 literals."""
    return strong(value) if _is_fp8(value.dtype) else value


def arithmetic(op: ast.operator, left: Value, right: Value) -> Value:
    """`left op right` for `+ - * /` and the bit operators, in the type TileLang gives it."""
    dtype = promoted(left.dtype, right.dtype)
    axes = left.axes | right.axes
    if left.weak and right.weak:
        folded = _folded(op, left, right, dtype)
        if folded is not None:
            return folded
        left, right = strong(cast(left, dtype)), strong(cast(right, dtype))
    if isinstance(op, (ast.BitAnd, ast.BitOr, ast.BitXor)) and left.dtype == right.dtype == "bool":
        return Value(ast.BinOp(left.tree, op, right.tree), "bool", axes)
    computed = "float32" if bits(dtype) == 8 and is_float(dtype) else dtype
    a, b = operands(left, right, computed)
    result = ast.BinOp(a.tree, op, b.tree)
    made = _triton_result(a, b, isinstance(op, ast.Div))
    return cast(Value(result, made, axes), dtype)


def operands(left: Value, right: Value, dtype: str) -> tuple[Value, Value]:
    """Both sides so that Triton computes in `dtype`: cast only what its own rules would not."""
    a = _as_operand(left, dtype)
    b = _as_operand(right, dtype)
    signs = {BY_NAME[side.dtype].kind for side in (a, b) if not side.weak}
    if _triton_result(a, b, divides=False) != dtype or {"int", "uint"} <= signs:
        a = a if a.weak else cast(a, dtype)
        b = b if b.weak else cast(b, dtype)
    return a, b


def compare(op: ast.cmpop, left: Value, right: Value) -> Value:
    """A comparison, made in the promoted type; a literal that both types hold needs no cast."""
    tree_axes = left.axes | right.axes
    dtype = promoted(left.dtype, right.dtype)
    if left.weak and right.weak:
        if left.number is not None and right.number is not None:
            left, right = cast(left, dtype), cast(right, dtype)
        both = left.weak and right.weak
        return Value(ast.Compare(left.tree, [op], [right.tree]), "bool", weak=both)
    # Beside an unsigned number a negative one is a large one, so it is not compared as it is.
    changes_sign = BY_NAME[dtype].kind == "uint"
    for weak, typed in ((left, right), (right, left)):
        if weak.weak and not typed.weak and _holds(typed.dtype, weak.number):
            if not (changes_sign and BY_NAME[typed.dtype].kind == "int"):
                dtype = typed.dtype
    if bits(dtype) == 8 and is_float(dtype):
        dtype = "float32"
    a, b = operands(left, right, dtype)
    return Value(ast.Compare(a.tree, [op], [b.tree]), "bool", tree_axes)


FOLDS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}


def _folded(op: ast.operator, left: Value, right: Value, dtype: str) -> Value | None:
    """Arithmetic of two Python numbers, where it gives what the type `dtype` would give."""
    tree = ast.BinOp(left.tree, op, right.tree)
    fold = FOLDS.get(type(op))
    if left.number is None or right.number is None or fold is None:
        # Numbers that are not known are of Triton's own types for literals.
        plain = dtype in ("int32", "float32", "bool") and fold is not None
        return Value(tree, dtype, weak=True) if plain or isinstance(op, ast.Div) else None
    result = fold(left.number, right.number)
    if is_float(dtype):
        exact = dtype in ("float32", "float64") or _holds(dtype, result)
        return Value(tree, dtype, weak=True, number=float(result)) if exact else None
    if dtype == "bool" or wrapped(int(result), dtype) == result:
        return Value(tree, dtype, weak=True, number=result)
    return None


def wrapped(number: int, dtype: str) -> int:
    """An integer as a type of fewer bits holds it."""
    width = bits(dtype)
    number &= (1 << width) - 1
    signed = BY_NAME[dtype].kind == "int"
    return number - (1 << width) if signed and number >> (width - 1) else number


def _whole(value: Value, whole: int, dtype: str) -> Value:
    """A literal as an integer of the type; its tree stays where the number does."""
    number = wrapped(whole, dtype)
    if number == value.number and isinstance(value.number, int):
        return replace(value, dtype=dtype)
    return Value(literal(number), dtype, weak=True, number=number)


def _keeps(value: Value, dtype: str) -> bool:
    """Whether a literal stays the number that it is when it is rounded to `dtype`."""
    if value.number is None:
        return False
    return not is_float(dtype) or bits(dtype) >= 32 or _holds(dtype, value.number)


def _as_operand(value: Value, dtype: str) -> Value:
    if value.weak and dtype == "float64" and isinstance(value.number, float):
        # The literal is a float32 in TileLang, and would be a float64 in Triton.
        if value.dtype == "float32" and not _holds("float32", value.number):
            return strong(value)
    if value.weak and value.number is None and BY_NAME[dtype].kind == "uint":
        # What a loop that is written out makes of its variable may be negative, too.
        return cast(strong(value), dtype)
    if value.weak and BY_NAME[dtype].kind == "uint" and isinstance(value.number, int):
        # Triton refuses a negative number beside an unsigned tensor.
        return _whole(value, value.number, dtype)
    if value.weak:
        if isinstance(value.number, int) and not isinstance(value.number, bool) and is_float(dtype):
            return replace(_retype_literal(value, dtype), dtype=dtype)
        return value
    if bits(value.dtype) == 8 and is_float(value.dtype) and value.dtype != dtype:
        return cast(value, dtype)
    if value.dtype == "bool" and dtype != "bool":
        return cast(value, dtype)
    return value


def _triton_result(a: Value, b: Value, divides: bool) -> str:
    """The type that Triton 3.6 to 3.9 give a binary operation (`computation_type_impl`)."""
    order = {"bool": 0, "int": 1, "uint": 1, "float": 2}
    half = ("float16", "bfloat16")
    if a.weak != b.weak:
        weak, typed = (a, b) if a.weak else (b, a)
        if order[BY_NAME[weak.dtype].kind] <= order[BY_NAME[typed.dtype].kind]:
            return "float32" if divides and typed.dtype in half else typed.dtype
        return "float32" if is_float(weak.dtype) else promoted(a.dtype, b.dtype)
    pair = (a.dtype, b.dtype)
    for wide in ("float64", "float32"):
        if wide in pair:
            return wide
    if "float16" in pair:
        return "float32" if divides else "float16"
    if "bfloat16" in pair:
        return "bfloat16" if pair == ("bfloat16", "bfloat16") and not divides else "float32"
    return promoted(a.dtype, b.dtype)


def _is_same_kind_of_literal(value: Value, dtype: str) -> bool:
    """Whether Triton may keep the number as a literal where a `dtype` operand is wanted."""
    if value.dtype == "bool" or dtype == "bool":
        return False
    if is_float(dtype):
        return True
    return not is_float(value.dtype)


def _retype_literal(value: Value, dtype: str) -> Value:
    """An int literal written as a float where a float is meant: `0` becomes `0.0`."""
    if is_float(dtype) and not names_in(value.tree):
        written = float(value.number or 0)
        return replace(value, tree=literal(written), number=written)
    return value


def _needs_float32(source: str, target: str) -> bool:
    """fp8 converts from and to float32 only; float64 and integers go there in two steps."""
    eight = bits(target) == 8 and is_float(target)
    from_eight = bits(source) == 8 and is_float(source)
    return (eight and source != "float32") or (from_eight and target != "float32")


def _holds(dtype: str, value: int | float | bool | None) -> bool:
    """Whether `value` is exact in `dtype`, for the small numbers that literals are."""
    if value is None or isinstance(value, bool):
        return False
    if not is_float(dtype):
        if not isinstance(value, int):
            return False
        width, signed = bits(dtype), BY_NAME[dtype].kind == "int"
        low, high = (-(2 ** (width - 1)), 2 ** (width - 1)) if signed else (0, 2**width)
        return dtype != "bool" and low <= value < high
    if value != value or value in (float("inf"), float("-inf")):
        return True
    mantissa = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}.get(dtype, 3)
    if value == 0:
        return True
    fraction, exponent = math.frexp(abs(float(value)))
    if not -5 <= exponent <= 15 and dtype not in ("float32", "float64"):
        return False
    return (fraction * 2.0**mantissa) % 1.0 == 0.0
