"""T.transpose: the rows of one matrix as the columns of another."""

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from rewrites.errors import Problem
from rewrites.facts import Facts
from rewrites.space import Space
from rewrites.stores import store
from tile2triton.ops.base import Made, Operator, Source
from tile2triton.ops.gemm_rules import matrix_axes
from tile2triton.ops.lowerings import indices_of, space_of_region
from tile2triton.ops.regions import Region, as_written, read_region, region_problems
from tile2triton.ops.whole import shapes

if TYPE_CHECKING:
    from tile2triton.reference.operands import Operand


def transpose(src: Any, dst: Any, annotations: Any = None) -> Any:
    """Set `dst[j, i]` to `src[i, j]`, cast to the type of `dst`.

    Both are matrices or regions that are; further leading dimensions have extent 1. `annotations`
    is a hint.

    | form | meaning | Triton |
    |---|---|---|
    | `T.transpose(s, t)` | t = sᵀ | `t = tl.trans(s)` |
    """


def made(sources: dict[str, Source], options: dict[str, Any]) -> Made:
    """A tile of the same elements, the other way round."""
    source = sources["src"]
    return Made(source.shape[::-1], source.dtype, "transposed")


def check(call: ast.Call, facts: Facts) -> Iterator[Problem]:
    """Two matrices, the one as high as the other is wide."""
    arguments = TRANSPOSE.arguments(call)
    problems = [p for side in ("src", "dst") for p in region_problems(arguments[side], facts)]
    yield from problems
    source, target = (read_region(arguments[side], facts) for side in ("src", "dst"))
    if problems or source is None or target is None:
        return
    shapes = [_shape(region) for region in (source, target)]
    if len(shapes[0]) != 2 or None in shapes[0] or shapes[0] != shapes[1][::-1]:
        yield Problem(
            call,
            "T2T346",
            "T.transpose takes an (M, N) and an (N, M) matrix of fixed sizes",
            tuple(f"{as_written(side.node)}: {side.shape_text}" for side in (source, target)),
            "name the whole tiles, or regions such as `tile[0, :, :]`",
        )


def _shape(region: Region) -> list[int | None]:
    if region.extents is None:
        return []
    return [region.sizes[axis] for axis in matrix_axes(region)]


def reference(src: "Operand", dst: "Operand", annotations: Any = None) -> None:
    shape = dst.read().shape
    values = src.read()
    dst.write(np.swapaxes(values.reshape(values.shape[-2:]), 0, 1).reshape(shape))


def lower(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> None:
    """A read over the rows and columns of the source, and a store with the two exchanged."""
    source = read_region(arguments["src"], space.facts)
    target = read_region(arguments["dst"], space.facts)
    assert source is not None and target is not None and source.extents is not None
    axes = matrix_axes(source)
    sizes = tuple(source.sizes[axis] for axis in axes)
    extents = tuple(source.extents[axis] for axis in axes)
    inner = space_of_region(space, source, axes, sizes, extents, node)
    value = inner.read(source.node, source.buffer, indices_of(source, inner, axes))
    indices = indices_of(target, inner, matrix_axes(target)[::-1])
    store(inner, target.buffer, indices, value, node)


TRANSPOSE = Operator(
    surface=transpose,
    kind="statement",
    writes="dst",
    makes=made,
    check=check,
    lower=lower,
    reference=reference,
    whole=shapes.TRANSPOSE,
)

OPERATORS = (TRANSPOSE,)
