"""Indices as binary digits: what `j // 2`, `j % 8` and `i * 8 + k` pick out of their variables.

Tensors of Triton have lengths that are powers of two. An index that only takes binary digits of
loop variables apart and puts them together is a reshape, a permutation and a broadcast.
"""

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from rewrites.environment import Environment


@dataclass(frozen=True)
class Digit:
    """One binary digit: number `place` of the axis `axis`; without an axis it is the constant
    `place`."""

    axis: int | None
    place: int


ZERO = Digit(None, 0)
# The lowest digit first; what is not there is 0.
Digits = tuple[Digit, ...]


def digits(
    tree: ast.expr, axes: Mapping[str, tuple[int, int]], environment: Environment
) -> Digits | None:
    """The digits of an index, where each is a digit of an axis or known, or None.

    `axes` gives the position and the length of each variable's axis.
    """
    match tree:
        case ast.Name(id=identifier) if identifier in axes:
            position, length = axes[identifier]
            return tuple(Digit(position, n) for n in range(length.bit_length() - 1))
        case ast.BinOp(left=left, op=op, right=right):
            number = _number(right, environment)
            if number is not None:
                inner = digits(left, axes, environment)
                moved = None if inner is None else _moved(inner, op, number)
                if moved is not None:
                    return moved
            if isinstance(op, ast.Mult) and _number(left, environment) is not None:
                swapped = ast.BinOp(right, op, left)
                return digits(swapped, axes, environment)
            if isinstance(op, (ast.Add, ast.BitOr)):
                one, other = digits(left, axes, environment), digits(right, axes, environment)
                return None if one is None or other is None else _merged(one, other)
            return None
    number = _number(tree, environment)
    if number is None or number < 0:
        return None
    return tuple(Digit(None, number >> n & 1) for n in range(number.bit_length()))


def _moved(inner: Digits, op: ast.operator, number: int) -> Digits | None:
    """The digits after an operation with a number, where it only moves or drops them."""
    match op:
        case ast.RShift() if number >= 0:
            return inner[number:]
        case ast.LShift() if number >= 0:
            return (ZERO,) * number + inner
        case ast.BitAnd() if number > 0 and number & (number + 1) == 0:
            return inner[: number.bit_length()]
    if number <= 0 or number & (number - 1):
        return None
    shift = number.bit_length() - 1
    match op:
        case ast.FloorDiv():
            return inner[shift:]
        case ast.Mod():
            return inner[:shift]
        case ast.Mult():
            return (ZERO,) * shift + inner
    return None


def _merged(one: Digits, other: Digits) -> Digits | None:
    """The sum of two numbers, where no place has a digit of both."""
    length = max(len(one), len(other))
    result = []
    for n in range(length):
        pair = [side[n] for side in (one, other) if n < len(side) and side[n] != ZERO]
        if len(pair) > 1:
            return None
        result.append(pair[0] if pair else ZERO)
    return tuple(result)


def _number(tree: ast.expr, environment: Environment) -> int | None:
    interval = environment.range(tree)
    return interval.low if interval.low == interval.high else None
