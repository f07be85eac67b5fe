"""Numbers that Python computes and that remember how the user wrote them."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

from rewrites.quote import literal


def number_name(name: str, value: int | float) -> ast.Name:
    """The name of a static number, with its value, in a tree that is not yet recorded."""
    node = ast.Name(name, ast.Load())
    node.number = value  # type: ignore[attr-defined]
    return node


def number_of(node: ast.AST) -> int | float | None:
    """The value of a name that `number_name` made; None for any other node."""
    return node.__dict__.get("number")


def named(name: str, value: Any) -> Any:
    """An int or float under the user's name; anything else, and what has a tree, is left alone."""
    if is_number_of_a_library(value):
        value = value.item()
    if type(value) is int:
        return StaticInt(value, number_name(name, value))
    if type(value) is float and math.isfinite(value):
        return StaticFloat(value, number_name(name, value))
    return value


def is_number_of_a_library(value: Any) -> bool:
    """A NumPy scalar, known by how it is made rather than by importing its library."""
    return type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0


def with_tree(value: Any, tree: ast.expr) -> Any:
    """The number with the tree it was written as."""
    if type(value) is int:
        return StaticInt(value, tree)
    if type(value) is float and math.isfinite(value):
        return StaticFloat(value, tree)
    return value


def plain(value: Any) -> Any:
    """The number itself, without its tree."""
    if isinstance(value, StaticInt):
        return int(value)
    if isinstance(value, StaticFloat):
        return float(value)
    return value


def number_tree(value: int | float) -> ast.expr:
    """How the user wrote this number."""
    if isinstance(value, (StaticInt, StaticFloat)):
        return value.tree
    return literal(value)


def is_named(value: Any) -> bool:
    return isinstance(value, (StaticInt, StaticFloat))


def _composed(
    compute: Callable[[Any, Any], Any], node: type[ast.operator], left: Any, right: Any
) -> Any:
    if not isinstance(left, (int, float)) or not isinstance(right, (int, float)):
        return NotImplemented
    value = compute(plain(left), plain(right))
    return with_tree(value, ast.BinOp(number_tree(left), node(), number_tree(right)))


class _Named:
    """The arithmetic that both kinds share; a power is computed, since no kernel has one."""

    tree: ast.expr

    def __add__(self, other: Any) -> Any:
        return _composed(operator.add, ast.Add, self, other)

    def __radd__(self, other: Any) -> Any:
        return _composed(operator.add, ast.Add, other, self)

    def __sub__(self, other: Any) -> Any:
        return _composed(operator.sub, ast.Sub, self, other)

    def __rsub__(self, other: Any) -> Any:
        return _composed(operator.sub, ast.Sub, other, self)

    def __mul__(self, other: Any) -> Any:
        return _composed(operator.mul, ast.Mult, self, other)

    def __rmul__(self, other: Any) -> Any:
        return _composed(operator.mul, ast.Mult, other, self)

    def __truediv__(self, other: Any) -> Any:
        return _composed(operator.truediv, ast.Div, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _composed(operator.truediv, ast.Div, other, self)

    def __floordiv__(self, other: Any) -> Any:
        return _composed(operator.floordiv, ast.FloorDiv, self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _composed(operator.floordiv, ast.FloorDiv, other, self)

    def __mod__(self, other: Any) -> Any:
        return _composed(operator.mod, ast.Mod, self, other)

    def __rmod__(self, other: Any) -> Any:
        return _composed(operator.mod, ast.Mod, other, self)

    def __neg__(self) -> Any:
        return with_tree(-plain(self), ast.UnaryOp(ast.USub(), self.tree))

    def __pos__(self) -> Any:
        return self

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self


class StaticInt(_Named, int):
    """An int with its tree; in every other respect an int."""

    def __new__(cls, value: int, tree: ast.expr) -> StaticInt:
        self = int.__new__(cls, value)
        self.tree = tree
        return self

    def __reduce__(self) -> Any:
        return int, (int(self),)

    def __lshift__(self, other: Any) -> Any:
        return _composed(operator.lshift, ast.LShift, self, other)

    def __rlshift__(self, other: Any) -> Any:
        return _composed(operator.lshift, ast.LShift, other, self)

    def __rshift__(self, other: Any) -> Any:
        return _composed(operator.rshift, ast.RShift, self, other)

    def __rrshift__(self, other: Any) -> Any:
        return _composed(operator.rshift, ast.RShift, other, self)


class StaticFloat(_Named, float):
    """A float with its tree; in every other respect a float."""

    def __new__(cls, value: float, tree: ast.expr) -> StaticFloat:
        self = float.__new__(cls, value)
        self.tree = tree
        return self

    def __reduce__(self) -> Any:
        return float, (float(self),)
