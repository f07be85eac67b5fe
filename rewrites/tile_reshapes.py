"""Tiles at indices that only rearrange binary digits: reshapes instead of gathers."""

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rewrites.digits import Digit, digits
from rewrites.environment import lengths
from rewrites.facts import Tile
from rewrites.quote import expr
from rewrites.scalars import logical
from rewrites.tile_views import assert_numbers
from rewrites.values import Value, summable, summed

if TYPE_CHECKING:
    from rewrites.space import Space


@dataclass(frozen=True)
class _Run:
    """Neighbouring digits of one axis, or known ones, as a dimension of their own.

    `low` is the lowest digit's number in the axis, or the known number.
    """

    axis: int | None
    low: int
    count: int

    @property
    def length(self) -> int:
        return 1 << self.count


def rearranged(space: "Space", tile: Tile, tree: ast.expr, indices: list[ast.expr]) -> Value | None:
    """`tile[indices]` for all points of the space, or None where the indices do more."""
    found = _runs_of(space, tile, indices)
    if found is None:
        return None
    runs = [run for dimension in found for run in dimension]
    assert_numbers(space.lowering, tile, *(axis.tree for axis in space.axes), *indices)
    shape = [run.length for run in runs]
    if shape != list(lengths(tile)):
        tree = expr("tl.reshape(tree, shape)", tree=tree, shape=_tuple(shape))
    for dimension in reversed([d for d, run in enumerate(runs) if run.axis is None]):
        tree = _known(tree, tile.dtype, runs, dimension)
        del runs[dimension]
    return _laid_out(space, tile, tree, runs)


def spread(
    space: "Space", tile: Tile, indices: list[ast.expr], value: Value
) -> tuple[ast.expr, Value | None] | None:
    """A value at each element of the tile that `tile[indices]` is, and which elements these are.

    None where the indices do more than rearrange the digits of all variables.
    """
    found = _runs_of(space, tile, indices)
    if found is None:
        return None
    runs = [run for dimension in found for run in dimension]
    taken = {(run.axis, place) for run in runs for place in _places(run)}
    every = {
        (n, place)
        for n, axis in enumerate(space.axes)
        for place in range(axis.length.bit_length() - 1)
    }
    if taken != every:
        return None
    assert_numbers(space.lowering, tile, *(axis.tree for axis in space.axes), *indices)
    inside = [m for n in range(space.rank) if (m := space.in_extent(n)) is not None]
    inside += space.conditions
    masks = []
    if inside:
        mask = logical(ast.And(), inside)
        moved = _put_back(space, tile, expr("m.to(tl.int32)", m=mask.tree), mask.axes, runs)
        masks.append(expr("moved != 0", moved=moved))
    masks += _known_digits(space, tile, found)
    whole = None
    for mask_tree in masks:
        whole = mask_tree if whole is None else expr("a & b", a=whole, b=mask_tree)
    reach = frozenset(range(tile.rank))
    condition = None if whole is None else Value(whole, "bool", reach)
    return _put_back(space, tile, value.tree, value.axes, runs), condition


def _put_back(
    space: "Space", tile: Tile, tree: ast.expr, axes: frozenset[int], runs: list[_Run]
) -> ast.expr:
    """A value of the space in the order of the tile's digits."""
    if not axes:
        return tree
    if len(axes) < space.rank:
        shape = ast.Tuple(space.shape(), ast.Load())
        tree = expr("tl.broadcast_to(tree, shape)", tree=tree, shape=shape)
    varying = [run for run in runs if run.axis is not None]
    ordered = sorted(varying, key=lambda run: (run.axis or 0, -run.low))
    if ordered:
        tree = expr("tl.reshape(tree, s)", tree=tree, s=_tuple([run.length for run in ordered]))
    dims = [ordered.index(run) for run in varying]
    if dims != sorted(dims):
        order = ast.Tuple([ast.Constant(d) for d in dims], ast.Load())
        tree = expr("tl.permute(tree, order)", tree=tree, order=order)
    if len(varying) < len(runs):
        thin = [1 if run.axis is None else run.length for run in runs]
        full = [run.length for run in runs]
        tree = expr(
            "tl.broadcast_to(tl.reshape(tree, thin), full)",
            tree=tree,
            thin=_tuple(thin),
            full=_tuple(full),
        )
    return expr("tl.reshape(tree, s)", tree=tree, s=_tuple(list(lengths(tile))))


def _known_digits(space: "Space", tile: Tile, found: list[list[_Run]]) -> list[ast.expr]:
    """Where the digits of the elements' numbers are those that the indices fix."""
    masks = []
    for dimension, runs in enumerate(found):
        fixed = number = 0
        for run in runs:
            fixed, number = fixed << run.count, number << run.count
            if run.axis is None:
                fixed, number = fixed | (run.length - 1), number | run.low
        if fixed:
            here = space.lowering.lanes(
                tile.shape[dimension], tile.trees[dimension], dimension, tile.rank
            )
            masks.append(
                expr(
                    "here & fixed == number",
                    here=here,
                    fixed=ast.Constant(fixed),
                    number=ast.Constant(number),
                )
            )
    return masks


def _runs_of(space: "Space", tile: Tile, indices: list[ast.expr]) -> list[list[_Run]] | None:
    """The digits that each index is made of, or None where one is not, or a digit is used twice."""
    axes = {axis.variable: (n, axis.length) for n, axis in enumerate(space.axes)}
    result: list[list[_Run]] = []
    for index, length in zip(indices, lengths(tile), strict=True):
        found = digits(index, axes, space.environment)
        if found is None:
            return None
        width = length.bit_length() - 1
        # What does not fit is 0 in every iteration that counts.
        padded = (*found[:width], *(Digit(None, 0),) * (width - len(found)))
        result.append(_runs(padded))
    used = [(run.axis, place) for runs in result for run in runs for place in _places(run)]
    return result if len(set(used)) == len(used) else None


def _runs(found: tuple[Digit, ...]) -> list[_Run]:
    """The digits of one dimension, which are given from the lowest on, from the highest on."""
    runs: list[_Run] = []
    for digit in reversed(found):
        last = runs[-1] if runs else None
        if digit.axis is None:
            if last is not None and last.axis is None:
                runs[-1] = _Run(None, last.low * 2 + digit.place, last.count + 1)
            else:
                runs.append(_Run(None, digit.place, 1))
        elif last is not None and (last.axis, last.low) == (digit.axis, digit.place + 1):
            runs[-1] = _Run(digit.axis, digit.place, last.count + 1)
        else:
            runs.append(_Run(digit.axis, digit.place, 1))
    return runs


def _places(run: _Run) -> range:
    return range(run.low, run.low + run.count) if run.axis is not None else range(0)


def _known(tree: ast.expr, dtype: str, runs: list[_Run], dimension: int) -> ast.expr:
    """The elements with a known number along a dimension, which goes."""
    parts: list[ast.expr] = [
        ast.Slice() if d == dimension else ast.Constant(None) for d in range(len(runs))
    ]
    lanes = expr("tl.arange(0, n)", n=ast.Constant(runs[dimension].length))
    if len(runs) > 1:
        lanes = ast.Subscript(lanes, ast.Tuple(parts, ast.Load()), ast.Load())
    picked = expr(
        "tl.sum(tl.where(lanes == number, tree, 0), axis)",
        lanes=lanes,
        number=ast.Constant(runs[dimension].low),
        tree=summable(tree, dtype),
        axis=ast.Constant(dimension),
    )
    return summed(picked, dtype).tree


def _laid_out(space: "Space", tile: Tile, tree: ast.expr, runs: list[_Run]) -> Value:
    """The runs in the order of the axes, repeated along the digits that no index takes."""
    if not runs:
        return Value(tree, tile.dtype)
    wanted = sorted(range(len(runs)), key=lambda d: (runs[d].axis or 0, -runs[d].low))
    if wanted != sorted(wanted):
        dims = ast.Tuple([ast.Constant(d) for d in wanted], ast.Load())
        tree = expr("tl.permute(tree, dims)", tree=tree, dims=dims)
    thin: list[int] = []
    full: list[int] = []
    axes = frozenset(run.axis for run in runs if run.axis is not None)
    for position in sorted(axes):
        above = space.axes[position].length.bit_length() - 1
        for run in (runs[d] for d in wanted if runs[d].axis == position):
            gap = above - run.low - run.count
            if gap:
                thin.append(1)
                full.append(1 << gap)
            thin.append(run.length)
            full.append(run.length)
            above = run.low
        if above:
            thin.append(1)
            full.append(1 << above)
    if thin != full:
        if len(thin) != len(runs):
            tree = expr("tl.reshape(tree, thin)", tree=tree, thin=_tuple(thin))
        tree = expr("tl.broadcast_to(tree, full)", tree=tree, full=_tuple(full))
    shape = ast.Tuple(space.shape(axes), ast.Load())
    tree = expr("tl.reshape(tree, shape)", tree=tree, shape=shape)
    return Value(tree, tile.dtype, axes)


def _tuple(numbers: list[int]) -> ast.Tuple:
    return ast.Tuple([ast.Constant(n) for n in numbers], ast.Load())
