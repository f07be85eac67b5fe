"""T.any_of and T.all_of: one answer about many elements."""

import ast
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from rewrites.errors import Problem, refuse
from rewrites.facts import Facts
from rewrites.quote import expr
from rewrites.scalars import logical
from rewrites.space import Space
from rewrites.values import Value, cast
from tile2triton.ops.base import Operator
from tile2triton.ops.lowerings import indices_of, space_of_region
from tile2triton.ops.regions import as_written, read_region, region_problems
from tile2triton.reference.values import Value as Number

if TYPE_CHECKING:
    from tile2triton.reference.operands import Operand


def any_of(buffer: Any) -> Any:
    """Whether any element of a tile, a tensor, or a row of one, is not 0.

    What lies outside of a tensor counts as 0.

    | form | meaning | Triton |
    |---|---|---|
    | `T.any_of(mask)` | whether any element is not 0 | `tl.max((mask != 0).to(tl.int32)) != 0` |
    | `T.any_of(Mask[i, :])` | the same of a row | the row is loaded first |
    """


def all_of(buffer: Any) -> Any:
    """Whether no element of a tile, a tensor, or a row of one, is 0.

    What lies outside of a tensor counts as 0.

    | form | meaning | Triton |
    |---|---|---|
    | `T.all_of(mask)` | whether no element is 0 | `tl.min((mask != 0).to(tl.int32)) != 0` |
    | `T.all_of(Mask[i, :])` | the same of a row | the row is loaded first |
    """


def check(call: ast.Call, facts: Facts) -> Iterator[Problem]:
    """A buffer, or a part of it that is longer than 1 in its last dimension only."""
    (tree,) = call.args
    name = ast.unparse(call.func).rpartition(".")[2]
    problems = list(region_problems(tree, facts))
    region = read_region(tree, facts)
    if problems or region is None:
        yield from problems
        return
    long = [d for d, size in enumerate(region.sizes) if size != 1]
    if None in region.sizes or (not region.whole and any(d < region.rank - 1 for d in long)):
        yield Problem(
            tree,
            "T2T614",
            f"T.{name} looks at a whole buffer of known size or at a row of it, but "
            f"`{as_written(tree)}` is neither",
            (f"{as_written(tree)}: {region.shape_text}",),
            "give every dimension but the last one an index",
        )


def lower_question(asks_all: bool) -> Callable[..., Value]:
    """The elements as 0 and 1, of which the largest or the smallest answers."""

    def lower(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> Value:
        region = read_region(arguments["buffer"], space.facts)
        assert region is not None
        if space.rank:
            raise refuse(
                node,
                "T2T315",
                f"`{ast.unparse(node)}` asks about many elements inside T.Parallel",
                hint="ask in front of the loop, or combine the elements with `or` and `and`",
            )
        extents = region.extents or ()
        axes = tuple(d for d, size in enumerate(region.sizes) if size != 1) if extents else ()
        inner = space_of_region(
            space,
            region,
            axes,
            tuple(region.sizes[d] for d in axes),
            tuple(extents[d] for d in axes),
            node,
        )
        indices = indices_of(region, inner, axes)
        value = cast(inner.read(region.node, region.buffer, indices), "bool")
        if not value.axes:
            return value
        surplus = [m for p in range(inner.rank) if (m := inner.in_extent(p)) is not None]
        tree = value.tree
        if surplus and asks_all:
            inside = logical(ast.And(), surplus)
            tree = expr("x | ~inside", x=tree, inside=inside.tree)
        elif surplus:
            tree = logical(ast.And(), [value, *surplus]).tree
        function = "tl.min" if asks_all else "tl.max"
        return Value(expr(f"{function}(x.to(tl.int32)) != 0", x=tree), "bool")

    return lower


def _operator(surface: Callable[..., Any], asks_all: bool) -> Operator:
    def reference(buffer: "Operand") -> Number:
        elements = np.asarray(buffer.read()) != 0
        return np.bool_(elements.all() if asks_all else elements.any())

    return Operator(
        surface=surface,
        lower=lower_question(asks_all),
        kind="expression",
        check=check,
        reference=reference,
        takes_regions=True,
    )


OPERATORS = (_operator(any_of, False), _operator(all_of, True))
