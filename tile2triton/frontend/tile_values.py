"""What a kernel computes of whole tiles, element by element: a tile once it is named or used."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from tile2triton.frontend.builder import require
from tile2triton.frontend.dead import Dead
from tile2triton.frontend.dtypes import DType
from tile2triton.frontend.dynamic import Dynamic, Whole, binary, comparison, is_scalar, placed
from tile2triton.frontend.failures import failure
from tile2triton.frontend.positions import here
from tile2triton.frontend.statics import is_number_of_a_library, plain
from tile2triton.frontend.tile_arithmetic import TileArithmetic, computed_with
from tile2triton.frontend.tile_parts import Shape, expanded, part_of
from tile2triton.frontend.values import Buffer, Element, TilePart

Indices = tuple[Any, ...]
NAMES = ("i", "j", "k", "l")


class TileValue(Whole, TileArithmetic):
    """The elements of a tile that there is not yet; `element` computes the one at an index."""

    def __init__(
        self,
        shape: Shape,
        dtype: str | None,
        element: Callable[[Indices], Any],
        operands: tuple[Any, ...] = (),
        copied: Buffer | None = None,
    ) -> None:
        self.shape = shape
        self._dtype = dtype
        self._element = element
        self.operands = operands
        # The tile whose elements these are, in another type.
        self.copied = copied
        self.position = here()
        builder = require("a whole tile")
        # When and where it was written down.
        self.made_at = builder.count
        self.blocks = [block for block in builder.blocks if block.kind in ("loop", "branch")]

    def element(self, indices: Indices) -> Any:
        """The scalar at these indices."""
        value = self._element(indices)
        if isinstance(value, Dynamic) and not isinstance(value, Element):
            self.position.put(value.tree)
        return value

    def prepare(self) -> None:
        """Make the tiles that its elements are read from."""
        for operand in self.operands:
            if isinstance(operand, TileValue):
                operand.prepare()

    def reads(self) -> Iterator[str]:
        """The names of the memory that its elements are read from, but for those of operands."""
        facts = require("a whole tile").facts
        memory = (facts.variables, facts.tiles, facts.tensors)
        for operand in self.operands:
            if isinstance(operand, Buffer):
                yield operand.name
            elif isinstance(operand, Dynamic):
                tree = operand.region if isinstance(operand, Element) else operand.tree
                names = (node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
                yield from (one for one in names if any(one in each for each in memory))

    @property
    def values(self) -> Iterator[TileValue]:
        """Those of its operands that are computed, too."""
        return (one for one in self.operands if isinstance(one, TileValue))

    @property
    def is_fixed(self) -> bool:
        """Whether no store can change what it is: it is made of positions and constants."""
        return next(self.reads(), None) is None and all(one.is_fixed for one in self.values)

    def changed(self, since: int = 0) -> str | None:
        """What was stored to after it was written down, or may be in a later turn of a loop."""
        builder = require("a whole tile")
        for name in self.reads():
            if builder.stored.get(name, -1) > self.made_at:
                return f"`{name}` was stored to"
        loops = (block for block in builder.blocks if block.kind == "loop")
        if any(all(one is not other for other in builder.blocks) for one in self.blocks):
            return "its loop or branch ended"
        has_entered = any(all(one is not other for other in self.blocks) for one in loops)
        if has_entered and not self.is_fixed:
            return "a loop began"
        found = (one.changed(self.made_at) for one in self.values)
        return next((one for one in found if one is not None), None)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def dtype(self) -> DType:
        if self._dtype is None:
            raise failure(
                "T2T131",
                f"the element type of `{self}` is not known while the kernel is traced",
                hint="name it, such as T.cast(x, T.float32)",
                at=self.position,
            )
        return DType(self._dtype)

    def __getitem__(self, index: Any) -> Any:
        items = index if isinstance(index, tuple) else (index,)
        shape, inner = part_of(self, items)
        if not shape:
            return self.element(inner(()))
        return TileValue(shape, self._dtype, lambda at: self.element(inner(at)), (self,))

    def __repr__(self) -> str:
        if self.copied is not None and str(self.copied.dtype) == self._dtype:
            return self.copied.name
        names = tuple(Dynamic(ast.Name(name, ast.Load()), "int32") for name in NAMES)
        element = self._element(names[: self.ndim])
        return str(element) if isinstance(element, Dynamic) else repr(element)

    def __bool__(self) -> bool:
        raise failure(
            "T2T136",
            f"`{self}` is a whole tile and cannot be a condition",
            hint="choose its elements with T.where(condition, a, b); join conditions with & and |",
        )

    def __iter__(self) -> Iterator[Any]:
        raise failure(
            "T2T135", f"`{self}` is a whole tile and cannot be taken apart or looped over"
        )

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> Any:
        return self is other if other is None else computed_with(ast.Eq(), self, other)

    def __ne__(self, other: object) -> Any:
        return self is not other if other is None else computed_with(ast.NotEq(), self, other)


def is_tile(value: Any) -> bool:
    """Whether a value is a whole tile, a part of one, or computed of them."""
    if isinstance(value, Buffer):
        return value.scope in ("shared", "fragment")
    return isinstance(value, (TileValue, TilePart))


def as_value(value: Any) -> TileValue:
    """The elements of a tile, or of a part of one."""
    if isinstance(value, TileValue):
        return value
    if isinstance(value, Buffer):
        buffer = value
        return TileValue(value.shape, str(value.dtype), lambda at: buffer[at], (buffer,), buffer)
    assert isinstance(value, TilePart)
    whole = value.buffer
    shape, inner = part_of(whole, value.index)
    return TileValue(shape, str(whole.dtype), lambda at: whole[inner(at)], (whole, *value.scalars))


def computed(sign: ast.AST, *operands: Any) -> Any:
    """`a + b`, `a < b`, `-a` of whole tiles and scalars."""
    if isinstance(sign, ast.Pow):
        raise failure("T2T132", "`**` is no operator of a kernel", hint="multiply, or T.pow(x, y)")

    def applied(*elements: Any) -> Any:
        if isinstance(sign, ast.operator):
            return binary(sign, *elements)
        if isinstance(sign, ast.cmpop):
            return comparison(sign, *elements)
        (element,) = elements
        assert isinstance(sign, ast.unaryop)
        return placed(ast.UnaryOp(sign, element.tree), element._dtype)

    return pointwise(applied, operands)


def pointwise(
    apply: Callable[..., Any], operands: tuple[Any, ...], copied: Buffer | None = None
) -> TileValue:
    """What a function of scalars is of tiles, whose shapes are broadcast as NumPy does."""
    values = [_operand(one) for one in operands]
    tiles = [one for one in values if isinstance(one, TileValue)]
    shape = _broadcast(tiles)
    samples = [
        Dynamic(ast.Name("x", ast.Load()), one._dtype) if isinstance(one, TileValue) else one
        for one in values
    ]
    made = apply(*samples)
    dtype = made._dtype if isinstance(made, Dynamic) else None

    def element(indices: Indices) -> Any:
        return apply(
            *(
                one.element(expanded(one.shape, indices)) if isinstance(one, TileValue) else one
                for one in values
            )
        )

    return TileValue(shape, dtype, element, tuple(values), copied)


def _operand(operand: Any) -> Any:
    if is_tile(operand):
        return as_value(operand)
    if isinstance(operand, Dead):
        operand.refuse()
    if isinstance(operand, Buffer):
        raise failure(
            "T2T137",
            f"`{operand.name}` is a whole {operand.what}; kernels compute with tiles",
            found=(f"{operand.name}: {operand.dtype}, shape {operand.shape_text}",),
            hint=f"load the part that a program computes: x = T.copy({operand.name}[...])",
        )
    if is_number_of_a_library(operand):
        return operand.item()
    if not is_scalar(operand):
        raise failure(
            "T2T139",
            f"a Python object of type `{type(operand).__name__}` cannot stand in a kernel",
            found=(repr(operand)[:60],),
            hint="tiles are combined with tiles, scalars and numbers",
        )
    return operand


def _broadcast(values: list[TileValue]) -> Shape:
    """The shape that tiles have together: an extent of 1 goes with any other."""
    rank = max(value.ndim for value in values)
    shape: list[Any] = [1] * rank
    for value in values:
        for at, extent in enumerate(value.shape, rank - value.ndim):
            if plain(shape[at]) == 1:
                shape[at] = extent
            elif plain(extent) not in (1, plain(shape[at])):
                raise failure(
                    "T2T141",
                    "the shapes of these tiles do not go together",
                    found=tuple(f"{one}: {shape_text(one.shape)}" for one in values),
                    hint="give the shorter one its other dimension: x[:, None] for each row, "
                    "x[None, :] for each column",
                )
    return tuple(shape)


def shape_text(shape: Shape) -> str:
    """The extents as a person writes them."""
    return str(tuple(plain(extent) for extent in shape))
