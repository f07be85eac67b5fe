"""Writes to tiles at computed indices that reach each element once: every element looks back.

Triton has no scatter. Where the index can be solved for the loop variables, each element of the
tile knows which iteration writes it, and takes that iteration's value.
"""

import ast
from typing import TYPE_CHECKING

from rewrites.affine import affine
from rewrites.errors import refuse
from rewrites.facts import Tile
from rewrites.quote import expr, name
from rewrites.scalars import logical
from rewrites.tensors import refuse_races
from rewrites.tile_views import assert_numbers
from rewrites.tree import names_in
from rewrites.values import Value

if TYPE_CHECKING:
    from rewrites.space import Axis, Space


def scattered(
    space: "Space", tile: Tile, indices: list[ast.expr], value: Value, node: ast.AST
) -> tuple[ast.expr, ast.expr]:
    """The tile's new elements, and where they are new."""
    reached = frozenset[int]().union(*(space.axes_of(index) for index in indices))
    refuse_races(space, reached, node, tile.name, value)
    inner = _elements_of(space, tile)
    solver = _Solver(space, inner, tile, node)
    solver.solve(indices)
    assert_numbers(space.lowering, tile, *(axis.tree for axis in space.axes), *indices)
    masks = [*solver.masks]
    condition = space.condition()
    if condition is not None:
        moved = _fetched(space, inner, Value(condition.tree, "bool", condition.axes))
        masks.insert(0, Value(moved, "bool", frozenset(range(inner.rank))))
    mask = logical(ast.And(), masks).tree if masks else ast.Constant(True)
    return _fetched(space, inner, value), mask


def _elements_of(space: "Space", tile: Tile) -> "Space":
    """A space over the elements of the tile, in which the loop variables will be lets."""
    from rewrites.space import Axis, Space

    axes = [
        Axis.of(f"{tile.name.lower()}_{dimension} axis", extent, tree)
        for dimension, (extent, tree) in enumerate(zip(tile.shape, tile.trees, strict=True))
    ]
    return Space(space.lowering, tuple(axes))


class _Solver:
    """Solves `index == element` in each dimension for the loop variables."""

    def __init__(self, space: "Space", inner: "Space", tile: Tile, node: ast.AST) -> None:
        self.space = space
        self.inner = inner
        self.tile = tile
        self.node = node
        self.masks: list[Value] = []
        self.solved: dict[str, ast.expr] = {}

    def solve(self, indices: list[ast.expr]) -> None:
        waiting = dict(enumerate(indices))
        self._solve_digits(waiting)
        for dimension, index in list(waiting.items()):
            if self.space.axes_of(index) and not self._is_solved(index):
                self._invert(index, name(self.inner.axes[dimension].variable))
                del waiting[dimension]
        # What holds known variables only must hit the element.
        for dimension, index in waiting.items():
            if self.tile.shape[dimension] == 1:
                continue
            element = name(self.inner.axes[dimension].variable)
            self._require(expr("index == element", index=index, element=element))

    def _solve_digits(self, waiting: dict[int, ast.expr]) -> None:
        """`x // 8` in one dimension and `x % 8` in another tell what `x` is."""
        for dimension, index in list(waiting.items()):
            match index:
                case ast.BinOp(left=left, op=ast.Mod(), right=right):
                    partner = ast.dump(ast.BinOp(left, ast.FloorDiv(), right))
                    for other, high in list(waiting.items()):
                        if ast.dump(high) == partner and self.space.axes_of(left):
                            low = name(self.inner.axes[dimension].variable)
                            self._require(expr("low < size", low=low, size=right))
                            whole = expr(
                                "high * size + low",
                                high=name(self.inner.axes[other].variable),
                                size=right,
                                low=low,
                            )
                            self._invert(left, whole)
                            del waiting[dimension], waiting[other]
                            break

    def _is_solved(self, index: ast.expr) -> bool:
        variables = {self.space.axes[p].variable for p in self.space.axes_of(index)}
        return variables <= self.solved.keys()

    def _invert(self, index: ast.expr, element: ast.expr) -> None:
        """Solve `index == element`."""
        match index:
            case ast.BinOp(left=left, op=ast.BitXor(), right=right):
                for varying, mask in ((left, right), (right, left)):
                    if not self.space.axes_of(mask):
                        self._invert(varying, expr("e ^ mask", e=element, mask=mask))
                        return
        axes = [self.space.axes[p] for p in sorted(self.space.axes_of(index))]
        found = affine(index, [axis.variable for axis in axes], self.space.environment)
        if found is None or names_in(index) & self.space.lets.keys():
            raise self._refusal(index)
        factors = found.factors
        difference = expr("e - rest", e=element, rest=found.rest)
        if all(factor < 0 for factor in factors.values()):
            factors = {variable: -factor for variable, factor in factors.items()}
            difference = expr("rest - e", e=element, rest=found.rest)
        ordered = sorted(axes, key=lambda axis: -factors[axis.variable])
        for position, axis in enumerate(ordered):
            # What the smaller factors add up to must stay below the larger one.
            reach = sum(factors[a.variable] * (a.extent - 1) for a in ordered[position + 1 :])
            if axis.variable in self.solved or reach >= factors[axis.variable]:
                raise self._refusal(index)
        rest = self.inner.value(difference).tree
        for axis in ordered:
            rest = self._divide(axis, self._name("rest", rest), factors[axis.variable])
        if not (isinstance(rest, ast.Constant) and rest.value == 0):
            self._limit(expr("rest == 0", rest=rest))

    def _divide(self, axis: "Axis", rest: ast.expr, factor: int) -> ast.expr:
        """Solve for the variable with the largest factor; what is left for the others."""
        self._limit(expr("rest >= 0", rest=rest))
        quotient, left = rest, expr("0")
        if factor > 1:
            size = ast.Constant(factor)
            quotient = self._name(axis.variable, expr("rest // size", rest=rest, size=size))
            left = expr("rest % size", rest=rest, size=size)
        self._limit(expr("i < extent", i=quotient, extent=axis.tree))
        self._solve(axis, quotient)
        return left

    def _solve(self, axis: "Axis", tree: ast.expr) -> None:
        self.solved[axis.variable] = tree
        every = frozenset(range(self.inner.rank))
        self.inner.lets[axis.variable] = Value(tree, "int32", every)

    def _require(self, condition: ast.expr) -> None:
        self.masks.append(self.inner.value(condition))

    def _limit(self, mask: ast.expr) -> None:
        self.masks.append(Value(mask, "bool", frozenset(range(self.inner.rank))))

    def _name(self, base: str, tree: ast.expr) -> ast.expr:
        return self.space.lowering.assign(base.removesuffix(" axis"), tree)

    def _refusal(self, index: ast.expr) -> Exception:
        return refuse(
            self.node,
            "T2T306",
            f"`{self.tile.name}` is written at `{ast.unparse(index)}`, and it is not known that "
            "every element is written once",
            hint="write at sums of loop variables and multiples of them, such as `2 * i + 1`, "
            "`i * 8 + k` or `63 - i`, or copy the tile the other way round: read at such an index",
        )


def _fetched(space: "Space", inner: "Space", value: Value) -> ast.expr:
    """Each element's value, from the iteration that writes it."""
    if not value.axes:
        return value.tree
    axes = [axis for n, axis in enumerate(space.axes) if n in value.axes]
    where: ast.expr | None = None
    stride = 1
    for axis in reversed(axes):
        if axis.extent > 1:
            part = inner.lets[axis.variable].tree
            if stride > 1:
                part = expr("part * stride", part=part, stride=ast.Constant(stride))
            where = part if where is None else expr("part + where", part=part, where=where)
        stride *= axis.length
    tree = value.tree
    if value.dtype == "bool":
        tree = expr("tree.to(tl.int32)", tree=tree)
    last = ast.Constant(stride - 1)
    where = expr(
        "tl.minimum(tl.maximum(where, 0), last)", where=where or ast.Constant(0), last=last
    )
    shape = ast.Tuple(inner.shape(), ast.Load())
    where = expr("tl.broadcast_to(where, shape)", where=where, shape=shape)
    fetched = expr(
        "tl.reshape(tl.gather(tl.ravel(tree), tl.ravel(where), 0), shape)",
        tree=tree,
        where=where,
        shape=shape,
    )
    return expr("fetched != 0", fetched=fetched) if value.dtype == "bool" else fetched
