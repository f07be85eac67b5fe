"""Numbers that Python computes and that remember how the user wrote them."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Any

from rewrites.quote import literal
from tile2triton.frontend.decisions import is_asked, note

_OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}


def number_tree(value: int | float) -> ast.expr:
    """How the user wrote this number."""
    if isinstance(value, (StaticInt, StaticFloat)):
        return value.tree
    return literal(value)


def equality(value: StaticInt | StaticFloat) -> ast.Compare:
    """`tree == value`."""
    bare = int.__int__(value) if isinstance(value, int) else float.__float__(value)
    return ast.Compare(value.tree, [ast.Eq()], [literal(bare)])


def _bare(value: int | float) -> int | float:
    """The number alone."""
    if isinstance(value, StaticInt):
        return int.__int__(value)
    return float.__float__(value) if isinstance(value, StaticFloat) else value


def with_tree(value: Any, tree: ast.expr) -> Any:
    """The number with the tree it was written as."""
    if type(value) is int:
        return StaticInt(value, tree)
    if type(value) is float and math.isfinite(value):
        return StaticFloat(value, tree)
    return value


def _arithmetic(compute: Callable[[Any, Any], Any], node: type[ast.operator]) -> tuple[Any, Any]:
    """An operator whose result remembers its operands, and the same with the sides exchanged."""

    def composed(left: Any, right: Any) -> Any:
        if not isinstance(left, (int, float)) or not isinstance(right, (int, float)):
            return NotImplemented
        value = compute(_bare(left), _bare(right))
        return with_tree(value, ast.BinOp(number_tree(left), node(), number_tree(right)))

    return composed, lambda right, left: composed(left, right)


def _comparison(compute: Callable[[Any, Any], Any], node: type[ast.cmpop]) -> Any:
    """A comparison, whose outcome is noted where the user's code asked for it."""

    def compared(left: Any, right: Any) -> Any:
        if not isinstance(right, (int, float)):
            return NotImplemented
        outcome = compute(_bare(left), _bare(right))
        if is_asked():
            holds = node() if outcome else _OPPOSITE[node]()
            note(ast.Compare(left.tree, [holds], [number_tree(right)]))
        return outcome

    return compared


def _number(compute: Callable[..., Any]) -> Any:
    """A method whose result has no tree: that the number has its value is noted."""

    def computed(self: Any, *others: Any) -> Any:
        value = compute(_bare(self), *(_bare(other) for other in others))
        if is_asked() and value is not NotImplemented:
            note(equality(self))
        return value

    return computed


class _Named:
    """What both kinds share; a power is computed, since no kernel has one."""

    tree: ast.expr

    __add__, __radd__ = _arithmetic(operator.add, ast.Add)
    __sub__, __rsub__ = _arithmetic(operator.sub, ast.Sub)
    __mul__, __rmul__ = _arithmetic(operator.mul, ast.Mult)
    __truediv__, __rtruediv__ = _arithmetic(operator.truediv, ast.Div)
    __floordiv__, __rfloordiv__ = _arithmetic(operator.floordiv, ast.FloorDiv)
    __mod__, __rmod__ = _arithmetic(operator.mod, ast.Mod)

    __lt__ = _comparison(operator.lt, ast.Lt)
    __le__ = _comparison(operator.le, ast.LtE)
    __gt__ = _comparison(operator.gt, ast.Gt)
    __ge__ = _comparison(operator.ge, ast.GtE)
    __eq__ = _comparison(operator.eq, ast.Eq)
    __ne__ = _comparison(operator.ne, ast.NotEq)

    __hash__ = _number(hash)
    __int__ = _number(int)
    __float__ = _number(float)
    __trunc__ = _number(math.trunc)
    __floor__ = _number(math.floor)
    __ceil__ = _number(math.ceil)
    __round__ = _number(round)
    __abs__ = _number(abs)
    __divmod__ = _number(divmod)
    __rdivmod__ = _number(lambda self, other: divmod(other, self))
    __pow__ = _number(pow)
    __rpow__ = _number(lambda self, other: pow(other, self))

    def __bool__(self) -> bool:
        outcome = bool(_bare(self))  # type: ignore[arg-type]
        if is_asked():
            sign = ast.NotEq() if outcome else ast.Eq()
            note(ast.Compare(self.tree, [sign], [ast.Constant(0)]))
        return outcome

    def __neg__(self) -> Any:
        return with_tree(-_bare(self), ast.UnaryOp(ast.USub(), self.tree))  # type: ignore[arg-type]

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
        return int, (int.__int__(self),)

    __lshift__, __rlshift__ = _arithmetic(operator.lshift, ast.LShift)
    __rshift__, __rrshift__ = _arithmetic(operator.rshift, ast.RShift)
    __and__, __rand__ = _arithmetic(operator.and_, ast.BitAnd)
    __or__, __ror__ = _arithmetic(operator.or_, ast.BitOr)
    __xor__, __rxor__ = _arithmetic(operator.xor, ast.BitXor)
    bit_length = _number(int.bit_length)
    bit_count = _number(int.bit_count)

    def __invert__(self) -> Any:
        return with_tree(~int.__int__(self), ast.UnaryOp(ast.Invert(), self.tree))


class StaticFloat(_Named, float):
    """A float with its tree; in every other respect a float."""

    def __new__(cls, value: float, tree: ast.expr) -> StaticFloat:
        self = float.__new__(cls, value)
        self.tree = tree
        return self

    def __reduce__(self) -> Any:
        return float, (float.__float__(self),)

    is_integer = _number(float.is_integer)
