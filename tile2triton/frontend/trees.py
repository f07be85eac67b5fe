"""The canonical tree of whatever stands in a kernel: scalars, buffers, regions, types, tuples."""

from __future__ import annotations

import ast
import copy
import enum
from typing import TYPE_CHECKING, Any

from rewrites.quote import literal
from tile2triton.frontend.dtypes import dtype_name, is_dtype
from tile2triton.frontend.failures import failure
from tile2triton.frontend.named_numbers import number_tree
from tile2triton.frontend.positions import Position
from tile2triton.frontend.refused_names import RefusedName
from tile2triton.frontend.statics import is_number_of_a_library, plain

if TYPE_CHECKING:
    from tile2triton.frontend.values import Element


def tree_of(value: Any) -> ast.expr:
    """The tree of a value where a scalar or an option is wanted."""
    from tile2triton.frontend.dead import Dead
    from tile2triton.frontend.dynamic import Dynamic
    from tile2triton.frontend.tile_values import TileValue
    from tile2triton.frontend.together import Together
    from tile2triton.frontend.values import Buffer
    from tile2triton.frontend.whole_operands import WholeOperand

    if isinstance(value, (Dynamic, WholeOperand)):
        return value.tree
    if isinstance(value, (bool, type(None))):
        return ast.Constant(value)
    if isinstance(value, (int, float)):
        return number_tree(value)
    if is_dtype(value):
        return ast.Constant(dtype_name(value))
    if isinstance(value, enum.Enum):
        return ast.Constant(str(value.value))
    if isinstance(value, str):
        return ast.Constant(str(value))
    if isinstance(value, Buffer):
        return ast.Name(value.name, ast.Load())
    if isinstance(value, (Dead, RefusedName, Together)):
        value.refuse()
    if isinstance(value, TileValue):
        raise failure(
            "T2T143",
            f"`{value}` is a whole tile, but one element is wanted",
            hint="take one element, `value[i, j]`, or compute with whole tiles throughout",
        )
    if isinstance(value, (tuple, list)):
        return ast.Tuple([tree_of(item) for item in value], ast.Load())
    if is_number_of_a_library(value):
        return literal(value.item())
    raise failure(
        "T2T139",
        f"a Python object of type `{type(value).__name__}` cannot stand in a kernel",
        found=(repr(value)[:60],),
        hint="kernels hold numbers, element types, tiles, tensors and what is computed from them",
    )


def operand_tree(value: Any) -> ast.expr:
    """The tree of an operand of an operator on tiles, where an index may leave a region."""
    from tile2triton.frontend.values import Element

    if isinstance(value, Element):
        return value.region
    if isinstance(value, dict):
        keys: list[ast.expr | None] = [operand_tree(key) for key in value]
        return ast.Dict(keys, [operand_tree(item) for item in value.values()])
    if isinstance(value, (tuple, list)):
        return ast.Tuple([operand_tree(item) for item in value], ast.Load())
    return tree_of(value)


def option_tree(value: Any) -> ast.expr:
    """The tree of an optional argument: what is static is written as the value it has."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return literal(plain(value))
    return operand_tree(value)


def placed_at(tree: ast.expr, position: Position | None) -> ast.expr:
    """A copy of the tree at a place; a tree that has a place already stays there."""
    if position is None or getattr(tree, "lineno", None) is not None:
        return tree
    tree = copy.copy(tree)
    position.put(tree)
    return tree


def index_trees(index: tuple[Any, ...], shape: tuple[Any, ...], element: Element) -> list[ast.expr]:
    """The index as canonical trees: `...` and missing dimensions as `:`, no negative constants."""
    index = without_ellipsis(index, len(shape))
    if len(index) > len(shape):
        raise failure(
            "T2T313",
            f"`{element.buffer.name}` has {len(shape)} "
            f"{'dimension' if len(shape) == 1 else 'dimensions'}, but {len(index)} indices",
            found=(f"{element.buffer.name}: shape {element.buffer.shape_text}",),
            at=element.position,
        )
    full: tuple[Any, ...] = index + (slice(None),) * (len(shape) - len(index))
    return [_one(item, extent, element) for item, extent in zip(full, shape, strict=True)]


def is_complete(index: tuple[Any, ...], rank: int) -> bool:
    return len(index) == rank and not any(isinstance(item, slice) or item is ... for item in index)


def inner_index(
    outer: tuple[Any, ...], inner: tuple[Any, ...], shape: tuple[Any, ...]
) -> tuple[Any, ...]:
    """The index of the whole buffer of this shape that `buffer[outer][inner]` means."""
    outer = without_ellipsis(outer, len(shape))
    outer += (slice(None),) * (len(shape) - len(outer))
    waiting = list(without_ellipsis(inner, sum(isinstance(item, slice) for item in outer)))
    result: list[Any] = []
    for item, extent in zip(outer, shape, strict=True):
        if not isinstance(item, slice) or not waiting:
            result.append(item)
            continue
        chosen = waiting.pop(0)
        if isinstance(chosen, slice):
            lower = item.start if chosen.start is None else _moved(chosen.start, item, extent)
            upper = item.stop if chosen.stop is None else _moved(chosen.stop, item, extent)
            result.append(slice(lower, upper, chosen.step))
        else:
            result.append(_moved(chosen, item, extent, is_element=True))
    return (*result, *waiting)


def _moved(index: Any, part: slice, extent: Any, is_element: bool = False) -> Any:
    """Where an index of a part stands in the whole; one that is negative counts from its end."""
    if part.start is None and part.stop is None:
        return index
    start = from_end(0 if part.start is None else part.start, extent)
    stop = from_end(extent if part.stop is None else part.stop, extent)
    is_negative = isinstance(index, int) and not isinstance(index, bool) and plain(index) < 0
    if all(isinstance(one, int) for one in (index, start, stop)):
        count, own = plain(stop) - plain(start), plain(index)
        if not (-count <= own < count or (own == count and not is_element)):
            raise failure(
                "T2T323",
                f"{own} is outside of a part with an extent of {count}",
                hint=f"indices of a part count from where it begins: stay from 0 to {count - 1}",
            )
    if is_negative:
        return stop - -plain(index)
    return index if isinstance(start, int) and plain(start) == 0 else start + index


def from_end(bound: Any, extent: Any) -> Any:
    """A constant that counts from the end is `extent - n`."""
    if isinstance(bound, int) and not isinstance(bound, bool) and plain(bound) < 0:
        return extent - -plain(bound)
    return bound


def without_ellipsis(index: tuple[Any, ...], rank: int) -> tuple[Any, ...]:
    """The index of a buffer of this rank with `...` written out."""
    for at, item in enumerate(index):
        if item is ...:
            missing = (slice(None),) * (rank - len(index) + 1)
            return index[:at] + missing + index[at + 1 :]
    return index


def _one(item: Any, extent: Any, element: Element) -> ast.expr:
    if not isinstance(item, slice):
        return _bound(item, extent, element)
    if item.step is not None and item.step != 1:
        raise failure(
            "T2T205",
            "a slice with a step is no region",
            hint="leave the step out, or index the elements in a T.Parallel loop",
            at=element.position,
        )
    lower = None if item.start is None else _bound(item.start, extent, element)
    upper = None if item.stop is None else _bound(item.stop, extent, element)
    return ast.Slice(lower, upper)


def _bound(value: Any, extent: Any, element: Element) -> ast.expr:
    """A constant that counts from the end is written as `extent - n`."""
    if isinstance(value, int) and not isinstance(value, bool) and value < 0:
        return tree_of(from_end(value, extent))
    if isinstance(value, float):
        raise failure(
            "T2T142",
            f"an index is a whole number, but `{plain(value)}` is a float",
            hint="divide with `//`, which gives a whole number",
            at=element.position,
        )
    return tree_of(value)
