"""Scalars that are known at run time only: their operators build trees."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from rewrites import dtypes
from tile2triton.frontend.dead import Dead
from tile2triton.frontend.dtypes import DType
from tile2triton.frontend.failures import failure
from tile2triton.frontend.positions import here
from tile2triton.frontend.statics import is_number_of_a_library, plain
from tile2triton.frontend.trees import tree_of


class Whole:
    """A tensor or tile, which says itself that operators take elements of it."""


class Dynamic:
    """A scalar that is known at run time only; its operators build trees."""

    def __init__(self, tree: ast.expr, dtype: str | None = None) -> None:
        self._tree = tree
        self._dtype = dtype

    @property
    def tree(self) -> ast.expr:
        return self._tree

    @property
    def dtype(self) -> DType:
        if self._dtype is None:
            raise failure(
                "T2T131",
                f"the element type of `{self}` is not known while the kernel is traced",
                hint='name it, such as T.cast(x, "float32")',
            )
        return DType(self._dtype)

    @property
    def is_float(self) -> bool:
        """Whether it is known to be a float."""
        return (self._dtype or "").startswith(("float", "bfloat"))

    def astype(self, dtype: Any) -> Any:
        return DType(dtype)(self)

    def __repr__(self) -> str:
        return ast.unparse(self.tree)

    def __add__(self, other: Any) -> Any:
        return binary(ast.Add(), self, other)

    def __radd__(self, other: Any) -> Any:
        return binary(ast.Add(), other, self)

    def __sub__(self, other: Any) -> Any:
        return binary(ast.Sub(), self, other)

    def __rsub__(self, other: Any) -> Any:
        return binary(ast.Sub(), other, self)

    def __mul__(self, other: Any) -> Any:
        return binary(ast.Mult(), self, other)

    def __rmul__(self, other: Any) -> Any:
        return binary(ast.Mult(), other, self)

    def __truediv__(self, other: Any) -> Any:
        return binary(ast.Div(), self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return binary(ast.Div(), other, self)

    def __floordiv__(self, other: Any) -> Any:
        return binary(ast.FloorDiv(), self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return binary(ast.FloorDiv(), other, self)

    def __mod__(self, other: Any) -> Any:
        return binary(ast.Mod(), self, other)

    def __rmod__(self, other: Any) -> Any:
        return binary(ast.Mod(), other, self)

    def __lshift__(self, other: Any) -> Any:
        return binary(ast.LShift(), self, other)

    def __rlshift__(self, other: Any) -> Any:
        return binary(ast.LShift(), other, self)

    def __rshift__(self, other: Any) -> Any:
        return binary(ast.RShift(), self, other)

    def __rrshift__(self, other: Any) -> Any:
        return binary(ast.RShift(), other, self)

    def __and__(self, other: Any) -> Any:
        return binary(ast.BitAnd(), self, other)

    def __rand__(self, other: Any) -> Any:
        return binary(ast.BitAnd(), other, self)

    def __or__(self, other: Any) -> Any:
        return binary(ast.BitOr(), self, other)

    def __ror__(self, other: Any) -> Any:
        return binary(ast.BitOr(), other, self)

    def __xor__(self, other: Any) -> Any:
        return binary(ast.BitXor(), self, other)

    def __rxor__(self, other: Any) -> Any:
        return binary(ast.BitXor(), other, self)

    def __neg__(self) -> Any:
        return placed(ast.UnaryOp(ast.USub(), self.tree), self._dtype)

    def __pos__(self) -> Any:
        return self

    def __invert__(self) -> Any:
        return placed(ast.UnaryOp(ast.Invert(), self.tree), self._dtype)

    def __abs__(self) -> Any:
        from tile2triton.frontend.operators import call

        return call("abs", (self,), {})

    def __pow__(self, other: Any) -> Any:
        raise failure(
            "T2T132",
            f"`**` is no operator of a kernel: `{self} ** {other}`",
            hint="multiply, or write T.pow(x, y)",
        )

    __rpow__ = __pow__

    def __lt__(self, other: Any) -> Any:
        return comparison(ast.Lt(), self, other)

    def __le__(self, other: Any) -> Any:
        return comparison(ast.LtE(), self, other)

    def __gt__(self, other: Any) -> Any:
        return comparison(ast.Gt(), self, other)

    def __ge__(self, other: Any) -> Any:
        return comparison(ast.GtE(), self, other)

    def __eq__(self, other: Any) -> Any:
        return False if other is None else comparison(ast.Eq(), self, other)

    def __ne__(self, other: Any) -> Any:
        return True if other is None else comparison(ast.NotEq(), self, other)

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> bool:
        raise failure(
            "T2T133",
            f"`{self}` is known at run time only, but Python must decide on it here",
            hint="in the kernel itself write `if`, `and`, T.min, T.max or T.if_then_else; "
            "in a function that it calls, put @T.macro above the function",
        )

    def __index__(self) -> int:
        raise failure(
            "T2T134",
            f"`{self}` is known at run time only, but Python needs a number here",
            hint="a Python list, shape or `range` outside of the kernel takes static numbers only",
        )

    __int__ = __index__

    def __float__(self) -> float:
        raise failure(
            "T2T134",
            f"`{self}` is known at run time only, but Python needs a number here",
            hint='write T.cast(x, "float32"), and T.exp or T.sqrt instead of those of `math`',
        )

    def __iter__(self) -> Iterator[Any]:
        raise failure("T2T135", f"`{self}` is one scalar and cannot be taken apart or looped over")


def binary(operator: ast.operator, left: Any, right: Any) -> Any:
    """An arithmetic tree; a Python object that is no scalar decides for itself."""
    for operand in (left, right):
        if isinstance(operand, (Whole, Dead)):
            return NotImplemented
        _refuse_no_scalar(operand)
    dtype = _promoted(left, right)
    return placed(ast.BinOp(tree_of(left), operator, tree_of(right)), dtype)


def comparison(operator: ast.cmpop, left: Any, right: Any) -> Any:
    if isinstance(right, Dead):
        right.refuse()
    if isinstance(right, Whole):
        return NotImplemented
    _refuse_no_scalar(right)
    return placed(ast.Compare(tree_of(left), [operator], [tree_of(right)]), "bool")


def placed(tree: ast.expr, dtype: str | None = None) -> Dynamic:
    """A scalar whose tree stands where the user's expression does."""
    here().put(tree)
    return Dynamic(tree, dtype)


def is_scalar(value: Any) -> bool:
    return isinstance(value, (Dynamic, int, float))


def _refuse_no_scalar(value: Any) -> None:
    if not (is_scalar(value) or is_number_of_a_library(value)):
        raise failure(
            "T2T139",
            f"a Python object of type `{type(value).__name__}` cannot stand in a kernel",
            found=(repr(value)[:60],),
            hint="scalars are combined with numbers and scalars",
        )


def dtype_of(value: Any) -> str | None:
    """The element type of a scalar where it is known; numbers count as int32 and float32.

    What is too large for int32 counts as int64.
    """
    if isinstance(value, Dynamic):
        return value._dtype
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int32" if -(2**31) <= plain(value) < 2**31 else "int64"
    return "float32" if isinstance(value, float) else None


def promoted_type(values: Sequence[Any]) -> str | None:
    """The type that scalars have together, where those of all are known."""
    result = values[0]
    for other in values[1:]:
        same = dtype_of(result) == dtype_of(other)
        result = Dynamic(
            ast.Name("x", ast.Load()), dtype_of(result) if same else _promoted(result, other)
        )
    return dtype_of(result)


def _promoted(left: Any, right: Any) -> str | None:
    a, b = dtype_of(left), dtype_of(right)
    if a is None or b is None:
        return None
    return dtypes.promoted(a, b)
