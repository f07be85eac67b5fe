"""Whole operands while a program without T.Kernel is traced: each operation gives another one."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from rewrites.errors import RewriteError
from rewrites.operands.evaluate import BINARY, COMPARING, arithmetic, called
from rewrites.operands.terms import Extent
from rewrites.operands.values import Making, Whole
from rewrites.operands.views import sliced
from tile2triton.diagnostics import from_problems
from tile2triton.frontend.builder import require
from tile2triton.frontend.dtypes import DType
from tile2triton.frontend.failures import failure
from tile2triton.frontend.named_numbers import StaticInt, with_tree
from tile2triton.frontend.positions import here
from tile2triton.frontend.statics import number_name, plain
from tile2triton.frontend.trees import operand_tree
from tile2triton.ops.base import Operator

_SYMBOLS: dict[str, ast.operator] = {symbol: kind() for kind, symbol in BINARY.items()}
_SIGNS: dict[str, ast.cmpop] = {symbol: kind() for kind, symbol in COMPARING.items()}


class WholeOperand:
    """A tensor, or what was computed from tensors, as a whole."""

    def __init__(self, tree: ast.expr, whole: Whole) -> None:
        self.tree = tree
        self.whole = whole

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents; each remembers its name."""
        return tuple(
            with_tree(size.value, number_name(size.name, size.value)) if size.name else size.value
            for size in self.whole.shape
        )

    @property
    def dtype(self) -> DType:
        return DType(self.whole.dtype)

    @property
    def ndim(self) -> int:
        return self.whole.rank

    def __repr__(self) -> str:
        return ast.unparse(self.tree)

    def __add__(self, other: Any) -> Any:
        return combined("+", self, other)

    def __radd__(self, other: Any) -> Any:
        return combined("+", other, self)

    def __sub__(self, other: Any) -> Any:
        return combined("-", self, other)

    def __rsub__(self, other: Any) -> Any:
        return combined("-", other, self)

    def __mul__(self, other: Any) -> Any:
        return combined("*", self, other)

    def __rmul__(self, other: Any) -> Any:
        return combined("*", other, self)

    def __truediv__(self, other: Any) -> Any:
        return combined("/", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return combined("/", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return combined("//", self, other)

    def __mod__(self, other: Any) -> Any:
        return combined("%", self, other)

    def __and__(self, other: Any) -> Any:
        return combined("&", self, other)

    __rand__ = __and__

    def __or__(self, other: Any) -> Any:
        return combined("|", self, other)

    __ror__ = __or__

    def __xor__(self, other: Any) -> Any:
        return combined("^", self, other)

    def __lt__(self, other: Any) -> Any:
        return combined("<", self, other)

    def __le__(self, other: Any) -> Any:
        return combined("<=", self, other)

    def __gt__(self, other: Any) -> Any:
        return combined(">", self, other)

    def __ge__(self, other: Any) -> Any:
        return combined(">=", self, other)

    def __eq__(self, other: Any) -> Any:
        return False if other is None else combined("==", self, other)

    def __ne__(self, other: Any) -> Any:
        return True if other is None else combined("!=", self, other)

    def __hash__(self) -> int:
        return id(self)

    def __neg__(self) -> Any:
        tree = ast.UnaryOp(ast.USub(), self.tree)
        return _made(tree, lambda making: making.pointwise("-x", self.whole))

    def __invert__(self) -> Any:
        tree = ast.UnaryOp(ast.Invert(), self.tree)
        return _made(tree, lambda making: making.pointwise("~x", self.whole))

    def __matmul__(self, other: Any) -> Any:
        from tile2triton.frontend.operators import call

        return call("gemm", (self, other), {})

    def __getitem__(self, index: Any) -> Any:
        items = index if isinstance(index, tuple) else (index,)
        trees = [_index_tree(item) for item in items]
        inside = trees[0] if len(trees) == 1 else ast.Tuple(trees, ast.Load())
        tree = ast.Subscript(self.tree, inside, ast.Load())
        numbers = tuple(_plain_index(item) for item in items)
        return _made(tree, lambda making: sliced(making, self.whole, numbers))

    def __bool__(self) -> bool:
        raise failure(
            "T2T803",
            f"`{self}` is a whole operand and cannot be a condition",
            hint="write T.where(condition, a, b)",
        )

    def __iter__(self) -> Iterator[Any]:
        raise failure(
            "T2T803",
            f"`{self}` is a whole operand and cannot be taken apart or looped over",
            hint="write what is done to all of its elements",
        )

    def _number(self) -> NoReturn:
        raise failure(
            "T2T803",
            f"`{self}` is a whole operand, but Python needs a number here",
            hint="its extents are numbers: x.shape[-1]",
        )

    __index__ = __int__ = __float__ = _number


def combined(operator: str, left: Any, right: Any) -> Any:
    """Arithmetic and comparison of whole operands and numbers."""
    for operand in (left, right):
        if not isinstance(operand, (WholeOperand, bool, int, float)):
            return NotImplemented
    trees = operand_tree(left), operand_tree(right)
    tree: ast.expr
    if operator in _SYMBOLS:
        tree = ast.BinOp(trees[0], _SYMBOLS[operator], trees[1])
    else:
        tree = ast.Compare(trees[0], [_SIGNS[operator]], [trees[1]])
    operands = [_value(left), _value(right)]
    return _made(tree, lambda making: arithmetic(making, operator, *operands))


def call_whole(
    operator: Operator, tree: ast.Call, arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> Any:
    """What an operator of the language makes of whole operands."""
    given = [_value(one) for one in arguments]
    named = {key: _value(one) for key, one in keywords.items()}
    return _made(tree, lambda making: called(making, operator, given, named))


def _made(tree: ast.expr, make: Callable[[Making], Any]) -> Any:
    here().put(tree)
    making = require(f"`{ast.unparse(tree)}`").making
    making.node = tree
    with refusals_placed():
        return WholeOperand(tree, make(making))


@contextmanager
def refusals_placed() -> Iterator[None]:
    """Turn what is wrong with operands into the user's error."""
    try:
        yield
    except RewriteError as error:
        raise from_problems(list(error.problems), here().filename) from None


def _value(value: Any) -> Any:
    """An argument as operators take it."""
    if isinstance(value, WholeOperand):
        return value.whole
    if isinstance(value, (tuple, list)):
        return tuple(_value(item) for item in value)
    if isinstance(value, DType):
        return str(value)
    if isinstance(value, StaticInt) and isinstance(value.tree, ast.Name):
        return Extent(plain(value), value.tree.id)
    return plain(value)


def _index_tree(item: Any) -> ast.expr:
    if isinstance(item, slice):
        parts = (item.start, item.stop, item.step)
        return ast.Slice(*(None if part is None else operand_tree(part) for part in parts))
    if item is ...:
        return ast.Constant(...)
    return operand_tree(item)


def _plain_index(item: Any) -> Any:
    if isinstance(item, slice):
        return slice(*(plain(part) for part in (item.start, item.stop, item.step)))
    return plain(item)
