"""Whole operands while a program without T.Kernel is traced: each operation gives another one."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from rewrites.errors import RewriteError
from rewrites.operands.evaluate import BINARY, COMPARING, arithmetic, called, signed
from rewrites.operands.terms import Extent, Size
from rewrites.operands.values import Making, Whole
from rewrites.operands.views import sliced
from rewrites.tree import names_in
from tile2triton.diagnostics import TileError, from_problems
from tile2triton.frontend.builder import Block, require
from tile2triton.frontend.dtypes import DType
from tile2triton.frontend.failures import failure, unknown_attribute
from tile2triton.frontend.named_numbers import StaticInt, with_tree
from tile2triton.frontend.positions import here
from tile2triton.frontend.statics import is_named, is_number_of_a_library, number_name, plain
from tile2triton.frontend.trees import operand_tree
from tile2triton.ops.base import Operator

_SYMBOLS: dict[str, ast.operator] = {symbol: kind() for kind, symbol in BINARY.items()}
_SIGNS: dict[str, ast.cmpop] = {symbol: kind() for kind, symbol in COMPARING.items()}
# The operators that arrays have as methods, too.
METHODS = (
    *("to", "astype"),
    *("abs", "exp", "log", "sqrt", "rsqrt", "sin", "cos", "tanh", "sigmoid", "relu", "clamp"),
    *("sum", "mean", "var", "max", "min", "amax", "amin", "any", "all", "argmax", "argmin"),
    *("softmax", "log_softmax", "logsumexp", "topk"),
    *("transpose", "permute", "reshape", "gather"),
)


@dataclass(frozen=True)
class Place:
    """What a store to an operand changes: all of `base`, its tiles in a loop, or a part of it."""

    base: WholeOperand
    tile: Size | None
    is_part: bool = False


class OwnArithmetic:
    """What says itself what it is together with a whole operand."""


class TileIndex(OwnArithmetic):
    """A number that only slices of whole operands understand."""

    def slice_to(self, stop: Any) -> Size | None:
        """The extent, marked with its tiles, of which `self:stop` is one."""
        raise NotImplementedError

    def refusal(self) -> TileError:
        """An error: it stands where it has no meaning."""
        raise NotImplementedError


class WholeOperand:
    """A tensor, or what was computed from tensors, as a whole."""

    def __init__(self, tree: ast.expr, whole: Whole, place: Place | None = None) -> None:
        self.tree = tree
        self.whole = whole
        # What a store to this part changes.
        self.place = place or Place(self, None)
        # The value of the turn before that it was made of, in a loop over tiles.
        self.carried: Any = None
        # The loop over tiles that adds to it: until it ends, nobody knows the value.
        self.added_in: Block | None = None

    def read(self) -> Whole:
        """What it is, where something is computed of it."""
        if self.added_in is not None and self.added_in.is_open:
            raise failure(
                "T2T854",
                f"`{self}` is a total, which is not known before the loop ends",
                hint="read it behind the loop",
            )
        return self.whole

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents; each remembers its name. Of a tile of a loop it is the tile's."""
        require("an extent").making.is_shape_read = True
        return tuple(
            size.tile
            or (with_tree(size.value, number_name(size.name, size.value)) if size.name else None)
            or size.value
            for size in self.whole.shape
        )

    @property
    def text(self) -> str:
        return ast.unparse(self.tree)

    def with_sizes(self, shape: tuple[Size, ...]) -> WholeOperand:
        """The same, with other marks of tiles at its extents."""
        return WholeOperand(self.tree, replace(self.whole, shape=shape), self.place)

    def unmarked(self) -> WholeOperand:
        """The whole extent that a tile of a loop stands for."""
        return self.with_sizes(tuple(replace(size, tile=0) for size in self.whole.shape))

    def complete(self) -> WholeOperand:
        """All that a reduction over the tiles of a loop comes to."""
        return WholeOperand(self.tree, replace(self.whole, partial=""))

    def expanded(self, dimension: int) -> Any:
        """With a new dimension of 1, counted from the last one."""
        return self[(..., None, *[slice(None)] * (-dimension - 1))]

    def become(self, value: WholeOperand) -> None:
        """Have another value from here on: something was stored to it."""
        self.tree, self.whole = value.tree, value.whole

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

    def __rfloordiv__(self, other: Any) -> Any:
        return combined("//", other, self)

    def __mod__(self, other: Any) -> Any:
        return combined("%", self, other)

    def __rmod__(self, other: Any) -> Any:
        return combined("%", other, self)

    def __pow__(self, other: Any) -> Any:
        return combined("**", self, other)

    def __rpow__(self, other: Any) -> Any:
        return combined("**", other, self)

    def __and__(self, other: Any) -> Any:
        return combined("&", self, other)

    def __rand__(self, other: Any) -> Any:
        return combined("&", other, self)

    def __or__(self, other: Any) -> Any:
        return combined("|", self, other)

    def __ror__(self, other: Any) -> Any:
        return combined("|", other, self)

    def __xor__(self, other: Any) -> Any:
        return combined("^", self, other)

    def __rxor__(self, other: Any) -> Any:
        return combined("^", other, self)

    def __lshift__(self, other: Any) -> Any:
        return combined("<<", self, other)

    def __rlshift__(self, other: Any) -> Any:
        return combined("<<", other, self)

    def __rshift__(self, other: Any) -> Any:
        return combined(">>", self, other)

    def __rrshift__(self, other: Any) -> Any:
        return combined(">>", other, self)

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
        return _made(tree, lambda making: signed(making, "-x", self.read()))

    def __invert__(self) -> Any:
        tree = ast.UnaryOp(ast.Invert(), self.tree)
        return _made(tree, lambda making: making.pointwise("~x", self.read()))

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return _call("abs", self)

    def __matmul__(self, other: Any) -> Any:
        return _call("gemm", self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return _call("gemm", other, self)

    @property
    def T(self) -> Any:
        """The operand with its dimensions in reverse."""
        return _call("permute", self, tuple(reversed(range(self.ndim))))

    @property
    def mT(self) -> Any:
        """The operand with its last two dimensions exchanged."""
        return _call("transpose", self)

    def to(self, dtype: Any) -> Any:
        """The operand in another type."""
        return _call("cast", self, dtype)

    astype = to

    def size(self, axis: int | None = None) -> Any:
        """The extents, or that of one axis."""
        return self.shape if axis is None else self.shape[axis]

    def __getattr__(self, name: str) -> Any:
        """A method that is an operator of the language: `x.sum(axis=-1)` is `T.sum(x, axis=-1)`."""
        from tile2triton.frontend.operators import TABLE

        operator = TABLE.get(name)
        if name in METHODS and operator is not None:
            return functools.partial(_call, name, self)
        if name.startswith("__"):
            raise AttributeError(name)
        hint = (
            f"write `T.{name}({self})`" if operator is not None else "write it with operators of T"
        )
        raise unknown_attribute(f"the whole operand `{self}` has no `.{name}`", hint)

    def __len__(self) -> int:
        return int(self.shape[0]) if self.shape else self._number()

    def __getitem__(self, index: Any) -> Any:
        items = index if isinstance(index, tuple) else (index,)
        at = next((at for at, item in enumerate(items) if is_of_loop(item)), None)
        if at is not None:
            return self._tile(items, at)
        trees = [_index_tree(item) for item in items]
        inside = trees[0] if len(trees) == 1 else ast.Tuple(trees, ast.Load())
        tree = ast.Subscript(self.tree, inside, ast.Load())
        chosen = tuple(_plain_index(item) for item in items)
        is_all = all(map(_is_all, items))
        made: WholeOperand = _made(tree, lambda making: sliced(making, self.read(), chosen))
        made.place = Place(self.place.base, self.place.tile, is_part=not is_all)
        return made

    def __setitem__(self, index: Any, value: Any) -> None:
        from tile2triton.frontend.operators import call

        call("atomic_update", (self[index], value), {})

    def _tile(self, items: tuple[Any, ...], at: int) -> WholeOperand:
        """The tile `i:i + tile_size` of a loop: the whole extent, marked."""
        item = items[at]
        size = item.start.slice_to(item.stop)
        if size is None:
            raise item.start.refusal()
        rest = items[at + 1 :]
        whole = self[(*items[:at], slice(None), *rest)]
        if ... in [one for one in items[:at] if one is ...]:
            place = whole.ndim - 1 - sum(_keeps(one) for one in rest)
        else:
            place = sum(_keeps(one) for one in items[:at])
        shape = list(whole.whole.shape)
        making = require("a tile of a loop").making
        if shape[place].tile or not making.sizes.same(shape[place], size):
            raise failure(
                "T2T853",
                f"`{self}` is sliced by a loop over an extent that it does not have there",
                found=(f"{self}: {self.whole.shape_text}", f"loop over: {size.name or size.value}"),
                hint="the loop's extent is that of the dimension: range(0, x.shape[-2], tile_size) "
                "for x[..., i:i + tile_size, :]",
            )
        shape[place] = size
        is_all = all(is_of_loop(one) or _is_all(one) for one in items)
        tree = self.tree if is_all else whole.tree
        found = WholeOperand(tree, replace(whole.whole, shape=tuple(shape)))
        found.place = Place(self.place.base, size, is_part=not is_all)
        return found

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


def is_of_loop(item: Any) -> bool:
    """Whether an index is a slice by the variable of a loop over tiles."""
    if isinstance(item, TileIndex):
        raise item.refusal()
    if not isinstance(item, slice):
        return False
    if isinstance(item.stop, TileIndex) and not isinstance(item.start, TileIndex):
        raise item.stop.refusal()
    return isinstance(item.start, TileIndex)


def _is_all(item: Any) -> bool:
    """Whether an index takes all of a dimension."""
    if isinstance(item, slice):
        return item.start is item.stop is item.step is None
    return item is ...


def _keeps(item: Any) -> bool:
    """Whether an index leaves a dimension."""
    return item is None or isinstance(item, slice)


def extent_of(value: Any) -> Size | None:
    """The extent of a tensor that a number is; None: it is no extent's name."""
    if not isinstance(value, StaticInt) or not isinstance(value.tree, ast.Name):
        return None
    builder = require("an extent")
    known = {
        extent.id
        for tensor in builder.facts.tensors.values()
        for extent in tensor.shape
        if isinstance(extent, ast.Name)
    }
    return Size(plain(value), value.tree.id) if value.tree.id in known else None


def is_of_extents(value: Any) -> bool:
    """Whether a number is an extent of a tensor, or was computed from one."""
    if not is_named(value):
        return False
    known = {size.name for size in require("an extent").making.terms.extents.values()}
    return not known.isdisjoint(names_in(value.tree))


def combined(operator: str, left: Any, right: Any) -> Any:
    """Arithmetic and comparison of whole operands and numbers."""
    for operand in (left, right):
        if isinstance(operand, OwnArithmetic):
            return NotImplemented
        if not isinstance(operand, (WholeOperand, bool, int, float)):
            check_number(operand, f"`{operator}`")
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


def call_store(operator: Operator, tree: ast.Call, target: Any, value: Any) -> Any:
    """What an operand is once something is stored to it."""
    given = [target.whole if isinstance(target, WholeOperand) else target, _value(value)]
    return _made(tree, lambda making: called(making, operator, given, {}))


def check_number(value: Any, what: str) -> None:
    """What is no whole operand and no number cannot be computed with."""
    if is_number_of_a_library(value):
        return
    raise failure(
        "T2T827",
        f"{what} of whole operands takes whole operands and numbers, not a "
        f"`{type(value).__name__}`",
        found=(repr(value)[:60],),
        hint="tensors that a kernel reads are its parameters",
    )


def _call(name: str, *arguments: Any, **keywords: Any) -> Any:
    from tile2triton.frontend.operators import call

    return call(name, arguments, keywords)


def completed(
    complete: Callable[..., dict[str, Any]], arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> dict[str, Any]:
    """The options of a call, with those that follow from the names of extents."""
    making = require("an operator of whole operands").making
    given = [_value(one) for one in arguments]
    named = {key: _value(one) for key, one in keywords.items()}
    return {**keywords, **complete(making, *given, **named)}


def _made(tree: ast.expr, make: Callable[[Making], Any]) -> Any:
    here().put(tree)
    making = require(f"`{ast.unparse(tree)}`").making
    making.node = tree
    with refusals_placed():
        return _wrapped(tree, make(making))


def _wrapped(tree: ast.expr, made: Any) -> Any:
    """An operand with its tree; several results are each the part of a tuple."""
    if isinstance(made, tuple):
        parts = [ast.Subscript(tree, ast.Constant(at), ast.Load()) for at in range(len(made))]
        for part in parts:
            ast.copy_location(part, tree)
        return tuple(_wrapped(part, one) for part, one in zip(parts, made, strict=True))
    return WholeOperand(tree, made) if isinstance(made, Whole) else made


def bound_operand(name: str, value: WholeOperand) -> WholeOperand:
    """The operand under a name, of which it is computed once."""
    builder = require(f"`{name}`")
    own = builder.bind(name)
    statement = ast.Assign([ast.Name(own, ast.Store())], value.tree)
    statement.type_comment = None
    builder.record(statement)
    builder.making.node = value.tree
    made = WholeOperand(ast.Name(own, ast.Load()), builder.making.renamed(value.whole, own))
    made.carried = value.carried
    if isinstance(value.tree, ast.Subscript):
        # What is stored to it would not be seen by what it is a part of.
        made.place = replace(value.place, is_part=True)
    return made


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
        return value.read()
    if isinstance(value, (tuple, list)):
        return tuple(_value(item) for item in value)
    if isinstance(value, DType):
        return str(value)
    if isinstance(value, StaticInt) and isinstance(value.tree, ast.Name):
        return Extent(plain(value), value.tree.id, require("an extent").making.fixed)
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
    return _value(item)
