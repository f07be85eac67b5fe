"""The value of a tile under another shape and element type, with the same bits in order."""

import ast
import math
from typing import TYPE_CHECKING

from rewrites.dtypes import bits
from rewrites.environment import next_power_of_two, padded
from rewrites.facts import Tile
from rewrites.quote import expr, literal, name
from rewrites.tree import names_in
from rewrites.values import collapsed, full, triton_dtype

if TYPE_CHECKING:
    from rewrites.lowering import Lowering

Shape = tuple[int, ...]


def seen_as(lowering: "Lowering", source: Tile, target: Tile) -> ast.expr:
    """The value of `source`, as `target` sees it."""
    tree: ast.expr = name(source.name)
    if source.is_scalar:
        tree = full(_tuple([ast.Constant(1)]), tree, source.dtype)
    shape, wide, narrow = source.shape, bits(source.dtype), bits(target.dtype)
    if wide != narrow:
        assert_numbers(lowering, source, target)
    if wide > narrow:
        tree, shape = _taken_apart(lowering, tree, shape, wide, narrow)
        dtype = f"uint{narrow}"
    elif wide < narrow:
        whole = (*target.shape[:-1], target.shape[-1] * (narrow // wide))
        tree = _reshaped(lowering, tree, shape, whole, _lengths(whole))
        tree = _put_together(lowering, tree, source.dtype, whole, wide, narrow)
        shape, dtype = target.shape, f"uint{narrow}"
    else:
        dtype = source.dtype
    if dtype != target.dtype:
        tree = _bitcast(tree, target.dtype)
    if target.is_scalar:
        return collapsed(tree, target.dtype)
    lengths = [padded(e, t) for e, t in zip(target.shape, target.trees, strict=True)]
    if not _is_aligned(shape, target.shape):
        assert_numbers(lowering, source, target)
    return _reshaped(lowering, tree, shape, target.shape, lengths)


def _taken_apart(
    lowering: "Lowering", tree: ast.expr, shape: Shape, wide: int, narrow: int
) -> tuple[ast.expr, Shape]:
    """Each element as several narrower ones, the lowest bits first."""
    tree = _bitcast(tree, f"uint{wide}")
    while wide > narrow:
        wide //= 2
        whole = lowering.assign("bits", tree)
        half = triton_dtype(f"uint{wide}")
        tree = expr(
            "tl.interleave(x.to(half), (x >> width).to(half))",
            x=whole,
            half=half,
            width=ast.Constant(wide),
        )
        shape = (*shape[:-1], shape[-1] * 2)
    return tree, shape


def _put_together(
    lowering: "Lowering", tree: ast.expr, dtype: str, shape: Shape, narrow: int, wide: int
) -> ast.expr:
    """Neighbours as one wider element, the first in the lowest bits."""
    if dtype != f"uint{narrow}":
        tree = _bitcast(tree, f"uint{narrow}")
    lengths = [next_power_of_two(extent) for extent in shape]
    while narrow < wide:
        lengths = [*lengths[:-1], lengths[-1] // 2]
        pairs = _tuple([ast.Constant(n) for n in (*lengths, 2)])
        low, high = lowering.names.fresh("low"), lowering.names.fresh("high")
        lowering.emit(
            "low, high = tl.split(tl.reshape(tree, pairs))",
            low=low,
            high=high,
            tree=tree,
            pairs=pairs,
        )
        tree = expr(
            "low.to(whole) | (high.to(whole) << width)",
            low=name(low),
            high=name(high),
            whole=triton_dtype(f"uint{narrow * 2}"),
            width=ast.Constant(narrow),
        )
        narrow *= 2
    return tree


def _reshaped(
    lowering: "Lowering",
    tree: ast.expr,
    shape: Shape,
    wanted: Shape,
    lengths: list[ast.expr],
) -> ast.expr:
    """The elements under another shape, in row-major order, wherever the padding lies."""
    if shape == wanted:
        return tree
    if not _is_aligned(shape, wanted):
        tree = _moved(lowering, tree, shape, wanted)
    return expr("tl.reshape(tree, lengths)", tree=tree, lengths=_tuple(lengths))


def _is_aligned(shape: Shape, wanted: Shape) -> bool:
    """Whether the padded elements lie alike: of dimensions that become others, only the first may
    be padded."""
    ours, theirs = list(shape), list(wanted)
    while ours and theirs:
        first, second = [ours.pop()], [theirs.pop()]
        while math.prod(first) != math.prod(second):
            if math.prod(first) < math.prod(second):
                first.append(ours.pop())
            else:
                second.append(theirs.pop())
        for group in (first, second):
            if len(first) + len(second) > 2 and any(n & (n - 1) for n in group[:-1]):
                return False
    return True


def _moved(lowering: "Lowering", tree: ast.expr, shape: Shape, wanted: Shape) -> ast.expr:
    """The padded elements of `wanted` as one row, fetched from where they lie in `shape`."""
    lengths = [next_power_of_two(extent) for extent in wanted]
    lane = lowering.assign("lanes", expr("tl.arange(0, n)", n=ast.Constant(math.prod(lengths))))
    number = lowering.assign("element", _renumbered(lane, lengths, list(wanted)))
    # Surplus lanes must read some element, too.
    last = ast.Constant(math.prod(wanted) - 1)
    inside = expr("tl.minimum(number, last)", number=number, last=last)
    padded_shape = [next_power_of_two(extent) for extent in shape]
    where = _renumbered(lowering.assign("element", inside), list(shape), padded_shape)
    flat = tree if len(shape) == 1 else expr("tl.ravel(tree)", tree=tree)
    return expr("tl.gather(flat, where, 0)", flat=flat, where=where)


def _renumbered(number: ast.expr, shape: list[int], strides_of: list[int]) -> ast.expr:
    """The element `number` of a box of `shape`, numbered in one of another shape."""
    if shape == strides_of:
        return number
    total: ast.expr | None = None
    for dimension, extent in enumerate(shape):
        stride, new_stride = (math.prod(box[dimension + 1 :]) for box in (shape, strides_of))
        part = number if stride == 1 else expr("n // s", n=number, s=ast.Constant(stride))
        if dimension:
            part = expr("part % extent", part=part, extent=ast.Constant(extent))
        if new_stride != 1:
            part = expr("part * stride", part=part, stride=ast.Constant(new_stride))
        total = part if total is None else ast.BinOp(total, ast.Add(), part)
    assert total is not None
    return total


def assert_numbers(lowering: "Lowering", *parts: Tile | ast.expr) -> None:
    """The numbers that stand in the text hold for these values of the named constants only."""
    trees: list[ast.expr] = []
    for part in parts:
        trees += part.trees if isinstance(part, Tile) else [part]
    used = set[str]().union(*(names_in(tree) for tree in trees))
    for constant, value in lowering.facts.constants.items():
        if constant in used:
            lowering.emit(
                "tl.static_assert(constant == value)", constant=constant, value=literal(value)
            )


def _bitcast(tree: ast.expr, dtype: str) -> ast.expr:
    return expr("tree.to(dtype, bitcast=True)", tree=tree, dtype=triton_dtype(dtype))


def _lengths(shape: Shape) -> list[ast.expr]:
    return [ast.Constant(next_power_of_two(extent)) for extent in shape]


def _tuple(trees: list[ast.expr]) -> ast.expr:
    return ast.Tuple(trees, ast.Load())
