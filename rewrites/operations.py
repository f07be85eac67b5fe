"""The operators of expressions, as Triton computes them."""

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from rewrites.dtypes import bits, is_float
from rewrites.errors import refuse
from rewrites.quote import literal
from rewrites.scalars import floor_divide, floor_modulo, negate_condition
from rewrites.values import Value, arithmetic, cast, compare, number, strong, wrapped

if TYPE_CHECKING:
    from rewrites.space import Space

_INTEGER_OPERATIONS = (
    ast.BitAnd,
    ast.BitOr,
    ast.BitXor,
    ast.LShift,
    ast.RShift,
    ast.FloorDiv,
)


def unary(tree: ast.expr, op: ast.unaryop, operand: Value) -> Value:
    """`op operand` in the type that the language gives it."""
    if isinstance(op, ast.Not):
        return negate_condition(operand)
    unsigned = operand.dtype.startswith("uint")
    if isinstance(op, ast.USub) and operand.number is not None and not unsigned:
        opposite = -operand.number
        if isinstance(opposite, int):
            # The lowest integer of a type is its own opposite.
            opposite = wrapped(opposite, operand.dtype)
        written = literal(opposite)
        if isinstance(operand.tree, ast.Name) and opposite == -operand.number:
            written = ast.UnaryOp(op, operand.tree)
        return replace(operand, tree=written, number=opposite)
    if isinstance(op, ast.Invert) and is_float(operand.dtype):
        raise refuse(
            tree,
            "T2T322",
            f"`{ast.unparse(tree)}` takes an integer or a condition",
            found=(f"`{ast.unparse(tree)[1:]}`: {operand.dtype}",),
            hint="T.cast it to an integer, or T.reinterpret its bits",
        )
    if is_float(operand.dtype) and bits(operand.dtype) == 8:
        # fp8 has no arithmetic.
        wide = cast(operand, "float32")
        turned = replace(wide, tree=ast.UnaryOp(op, wide.tree), number=None)
        return cast(turned, operand.dtype)
    if isinstance(op, ast.USub) and operand.dtype == "bool":
        operand = cast(operand, "int32")
    known = operand.number
    if isinstance(op, ast.Invert) and isinstance(known, int) and operand.dtype == "int32":
        return replace(operand, tree=ast.UnaryOp(op, operand.tree), number=~int(known))
    if operand.weak and operand.dtype not in ("int32", "float32", "bool"):
        operand = strong(operand)
    return replace(operand, tree=ast.UnaryOp(op, operand.tree), number=None)


def binary(
    space: "Space", tree: ast.expr, left: ast.expr, op: ast.operator, right: ast.expr
) -> Value:
    """`left op right` in the type that the language gives it."""
    a, b = space.value(left), space.value(right)
    if isinstance(op, _INTEGER_OPERATIONS) and (is_float(a.dtype) or is_float(b.dtype)):
        raise refuse(
            tree,
            "T2T322",
            f"`{ast.unparse(tree)}` takes integers",
            found=(f"`{ast.unparse(left)}`: {a.dtype}", f"`{ast.unparse(right)}`: {b.dtype}"),
            hint="T.cast both sides to an integer; of a quotient take T.floor(x / y)",
        )
    if isinstance(op, ast.FloorDiv):
        return floor_divide(space, a, b, left, right)
    if isinstance(op, ast.Mod):
        return floor_modulo(space, a, b, left, right)
    whole = not (a.dtype.startswith("float") or a.dtype == "bfloat16")
    if isinstance(op, ast.Div) and whole and not b.dtype.startswith(("float", "bfloat")):
        if a.weak and b.weak:
            return replace(arithmetic(op, a, b), dtype="float32")
        raise refuse(
            tree,
            "T2T303",
            f"`{ast.unparse(tree)}` divides integers with `/`",
            found=(f"{ast.unparse(left)}: {a.dtype}", f"{ast.unparse(right)}: {b.dtype}"),
            hint="use `//` for whole numbers, or T.cast one side to a float",
        )
    if isinstance(op, ast.Pow):
        raise refuse(
            tree,
            "T2T304",
            f"`**` is not an operator of tile programs: `{ast.unparse(tree)}`",
            hint="multiply, or use T.pow(x, y)",
        )
    result = arithmetic(op, a, b)
    if result.weak and result.number is None and result.dtype == "int32":
        # Of a loop that is written out, Triton would compute with Python's unlimited numbers.
        interval = space.environment.range(result.tree)
        least, most = interval.low or 0, interval.high or 0
        if wrapped(least, "int32") != least or wrapped(most, "int32") != most:
            return arithmetic(op, strong(a), b)
    return result


def comparison(op: ast.cmpop, a: Value, b: Value, left: ast.expr, right: ast.expr) -> Value:
    """`left op right`; what is compared with itself needs no look."""
    same = not a.axes and not is_float(a.dtype) and ast.dump(left) == ast.dump(right)
    if same:
        # Triton 3.6.0 fails on a branch whose condition only shared loads make known.
        return number(isinstance(op, (ast.Eq, ast.LtE, ast.GtE)))
    return compare(op, a, b)
