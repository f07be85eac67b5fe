"""Arithmetic that Triton defines otherwise than TileLang: floor division, modulo, logic."""

import ast
from typing import TYPE_CHECKING

from rewrites.dtypes import BY_NAME, bits, promoted
from rewrites.errors import refuse
from rewrites.quote import expr, literal
from rewrites.values import Value, cast, number, operands, strong, wrapped

if TYPE_CHECKING:
    from rewrites.space import Space


def floor_divide(space: "Space", a: Value, b: Value, left: ast.expr, right: ast.expr) -> Value:
    """`a // b` rounded down; Triton rounds to zero, so signs that may differ are corrected."""
    return _divide(space, a, b, left, right, "a // b", "tl.where(test, a // b - 1, a // b)")


def floor_modulo(space: "Space", a: Value, b: Value, left: ast.expr, right: ast.expr) -> Value:
    """`a % b` with the sign of `b`; in Triton it has the sign of `a`."""
    return _divide(space, a, b, left, right, "a % b", "tl.where(test, a % b + b, a % b)")


def _divide(
    space: "Space",
    a: Value,
    b: Value,
    left: ast.expr,
    right: ast.expr,
    plain: str,
    corrected: str,
) -> Value:
    dtype = promoted(a.dtype, b.dtype)
    axes = a.axes | b.axes
    if a.weak and b.weak:
        if isinstance(a.number, int) and isinstance(b.number, int):
            low, high = wrapped(a.number, dtype), wrapped(b.number, dtype)
            if high == 0:
                raise refuse(right, "T2T324", f"`{ast.unparse(left)}` is divided by 0")
            quotient = low // high if "//" in plain else low % high
            tree = expr(plain, a=a.tree, b=b.tree)
            if (low, high) != (a.number, b.number):
                tree = literal(quotient)
            return Value(tree, dtype, weak=True, number=quotient)
        a, b = strong(a), strong(b)
    x, y = operands(a, b, dtype)
    environment = space.environment
    natural = environment.range(left).is_natural and environment.range(right).is_natural
    if natural or BY_NAME[dtype].kind == "uint":
        return Value(expr(plain, a=x.tree, b=y.tree), dtype, axes)
    if a.dtype in ("int8", "int16") and isinstance(b.number, int) and b.number > 0:
        # Shifted by a multiple of the divisor, a narrow dividend is never negative. LLVM divides
        # vectors of int8 wrong where their signs are looked at (`known_miscompiles.py`).
        turns = -(-(2 ** (bits(a.dtype) - 1)) // b.number)
        shifted = expr("a + bias", a=cast(x, "int32").tree, bias=literal(turns * b.number))
        tree = expr(plain, a=shifted, b=y.tree)
        if "//" in plain:
            tree = expr("quotient - turns", quotient=tree, turns=literal(turns))
        return cast(Value(tree, "int32", axes), dtype)
    # The operands stand several times in what follows, so they get names.
    if not isinstance(x.tree, (ast.Name, ast.Constant)):
        x = Value(space.lowering.assign("dividend", x.tree), dtype, x.axes)
    if not isinstance(y.tree, (ast.Name, ast.Constant)):
        y = Value(space.lowering.assign("divisor", y.tree), dtype, y.axes)
    if environment.range(right).within(1, None):
        test = expr("a % b < 0", a=x.tree, b=y.tree)
    else:
        test = expr("(a % b != 0) & ((a < 0) != (b < 0))", a=x.tree, b=y.tree)
    return Value(expr(corrected, test=test, a=x.tree, b=y.tree), dtype, axes)


def logical(op: ast.boolop, parts: list[Value]) -> Value:
    """`and` or `or` of conditions, element by element."""
    joined = as_condition(parts[0])
    for part in parts[1:]:
        right = as_condition(part)
        both = joined.weak and right.weak
        if both:
            tree: ast.expr = ast.BoolOp(op, [joined.tree, right.tree])
        else:
            bit_op = ast.BitAnd() if isinstance(op, ast.And) else ast.BitOr()
            tree = ast.BinOp(joined.tree, bit_op, right.tree)
        joined = Value(tree, "bool", joined.axes | right.axes, weak=both)
    return joined


def as_condition(value: Value) -> Value:
    """A value as a truth value: numbers are compared with zero."""
    if value.dtype == "bool":
        return value
    if value.weak and value.number is not None:
        return number(bool(value.number))
    return cast(value, "bool")


def negate_condition(value: Value) -> Value:
    """The opposite of a condition; a comparison is turned round rather than negated."""
    condition = as_condition(value)
    match condition.tree:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() as op], comparators=[right]):
            turned = ast.NotEq() if isinstance(op, ast.Eq) else ast.Eq()
            tree: ast.expr = ast.Compare(left, [turned], [right])
        case _ if condition.weak:
            tree = ast.UnaryOp(ast.Not(), condition.tree)
        case _:
            tree = ast.UnaryOp(ast.Invert(), condition.tree)
    return Value(tree, "bool", condition.axes, weak=condition.weak)
