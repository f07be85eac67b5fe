"""T.shift_left, T.bitwise_and and their kind: the operators on bits as functions."""

import ast
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from rewrites.space import Space
from rewrites.values import Value as Typed
from rewrites.values import arithmetic
from tile2triton.ops.base import Operator
from tile2triton.reference.values import Value, common, compute, typed


def shift_left(x: Any, y: Any) -> Any:
    """x shifted left by y bits.

    | form | meaning | Triton |
    |---|---|---|
    | `T.shift_left(x, y)` | `x << y` | `x << y` |
    """


def shift_right(x: Any, y: Any) -> Any:
    """x shifted right by y bits; the sign of a signed number is kept.

    | form | meaning | Triton |
    |---|---|---|
    | `T.shift_right(x, y)` | `x >> y` | `x >> y` |
    """


def bitwise_and(x: Any, y: Any) -> Any:
    """The bits that are set in both.

    | form | meaning | Triton |
    |---|---|---|
    | `T.bitwise_and(x, y)` | `x & y` | `x & y` |
    """


def bitwise_or(x: Any, y: Any) -> Any:
    """The bits that are set in either.

    | form | meaning | Triton |
    |---|---|---|
    | `T.bitwise_or(x, y)` | or, bit by bit | the same operator |
    """


def bitwise_xor(x: Any, y: Any) -> Any:
    """The bits that are set in one of the two.

    | form | meaning | Triton |
    |---|---|---|
    | `T.bitwise_xor(x, y)` | `x ^ y` | `x ^ y` |
    """


def bitwise_not(x: Any) -> Any:
    """The bits that are not set.

    | form | meaning | Triton |
    |---|---|---|
    | `T.bitwise_not(x)` | `~x` | `~x` |
    """


def _on_bits(function: Callable[..., Any]) -> Callable[[Value, Value], Value]:
    def reference(x: Value, y: Value) -> Value:
        return compute(function, *common(x, y))

    return reference


def reference_of_not(x: Value) -> Value:
    return compute(np.invert, typed(x))


def lower_bits(operation: ast.operator) -> Callable[..., Typed]:
    def lower(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> Typed:
        return arithmetic(operation, space.value(arguments["x"]), space.value(arguments["y"]))

    return lower


def lower_not(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> Typed:
    return space.value(ast.UnaryOp(ast.Invert(), arguments["x"]))


SHIFT_LEFT = Operator(
    surface=shift_left,
    lower=lower_bits(ast.LShift()),
    kind="expression",
    reference=_on_bits(np.left_shift),
    fold=operator.lshift,
)
SHIFT_RIGHT = Operator(
    surface=shift_right,
    lower=lower_bits(ast.RShift()),
    kind="expression",
    reference=_on_bits(np.right_shift),
    fold=operator.rshift,
)
BITWISE_AND = Operator(
    surface=bitwise_and,
    lower=lower_bits(ast.BitAnd()),
    kind="expression",
    reference=_on_bits(np.bitwise_and),
    fold=operator.and_,
)
BITWISE_OR = Operator(
    surface=bitwise_or,
    lower=lower_bits(ast.BitOr()),
    kind="expression",
    reference=_on_bits(np.bitwise_or),
    fold=operator.or_,
)
BITWISE_XOR = Operator(
    surface=bitwise_xor,
    lower=lower_bits(ast.BitXor()),
    kind="expression",
    reference=_on_bits(np.bitwise_xor),
    fold=operator.xor,
)
BITWISE_NOT = Operator(
    surface=bitwise_not,
    lower=lower_not,
    kind="expression",
    reference=reference_of_not,
    fold=operator.invert,
)

OPERATORS = (SHIFT_LEFT, SHIFT_RIGHT, BITWISE_AND, BITWISE_OR, BITWISE_XOR, BITWISE_NOT)
