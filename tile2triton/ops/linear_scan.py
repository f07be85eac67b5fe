"""T.linear_scan: linear recurrences along one dimension of a tile, by an associative scan."""

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from rewrites.dtypes import is_float
from rewrites.errors import Problem
from rewrites.facts import Facts
from rewrites.quote import expr
from rewrites.space import Space
from rewrites.values import Value, cast
from tile2triton.ops.base import Operator
from tile2triton.ops.regions import as_written, read_region, region_problems, static_value
from tile2triton.ops.whole.scans import LINEAR_SCAN as WHOLE_LINEAR_SCAN
from tile2triton.ops.whole_tiles import region_value, write_region

if TYPE_CHECKING:
    from tile2triton.reference.operands import Operand


def linear_scan(a: Any, b: Any, dst: Any, start: Any = None, dim: int = 0) -> Any:
    """The recurrence dst[i] = a[i] dst[i - 1] + b[i] along `dim`, in float32 at least.

    All are whole tiles of floats of one shape. `start`, a tile without that dimension, is what
    comes before the first; without it that is 0.

    | form | meaning | Triton |
    |---|---|---|
    | `T.linear_scan(a, b, h, dim=1)` | a recurrence | `tl.associative_scan((a, b), 1, …)[1]` |
    | `T.linear_scan(a, b, h, start, dim=1)` | that goes on | the first is `a * start + b` |
    """


def check(call: ast.Call, facts: Facts) -> Iterator[Problem]:
    """Tiles of one shape, a start of the shape without one of their dimensions."""
    arguments = LINEAR_SCAN.arguments(call)
    start, dim = arguments["start"], arguments["dim"]
    is_started = not (isinstance(start, ast.Constant) and start.value is None)
    trees = [arguments[key] for key in ("a", "b", "dst")]
    regions = []
    for tree in (*trees, start) if is_started else trees:
        problems = list(region_problems(tree, facts))
        yield from problems
        region = read_region(tree, facts)
        if problems or region is None:
            return
        if region.is_tensor or not region.whole or not is_float(region.dtype):
            what = "a global tensor" if region.is_tensor else f"a tile of {region.dtype}"
            what = what if region.whole else "a part of one"
            yield Problem(
                region.node,
                "T2T863",
                f"T.linear_scan takes whole tiles of floats; `{as_written(tree)}` is {what}",
                (),
                'copy to a tile from T.alloc_fragment(shape, "float32")',
            )
            return
        regions.append(region)
    axis, rank = static_value(dim, facts), regions[0].rank
    if not isinstance(axis, int) or not -rank <= axis < rank:
        yield Problem(
            dim,
            "T2T231",
            f"`{as_written(trees[0])}` has {rank} dimensions, so `dim={as_written(dim)}` is none "
            "of them",
            (f"{as_written(trees[0])}: {regions[0].shape_text}",),
            f"write a dim from {-rank} to {rank - 1}",
        )
        return
    shape = regions[0].sizes
    rest = shape[: axis % rank] + shape[axis % rank + 1 :] or (1,)
    wanted = [shape, shape, shape, rest]
    if any(one.sizes != size for one, size in zip(regions, wanted, strict=False)):
        yield Problem(
            call,
            "T2T863",
            "T.linear_scan takes tiles of one shape, and a start without the dimension of the scan",
            tuple(f"{as_written(one.node)}: {one.shape_text}" for one in regions),
            "broadcast with T.Parallel into a tile of the shape of the others",
        )


def lower(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> None:
    """One scan of pairs; what lies beyond the tile's extent comes last and changes nothing."""
    facts, lowering = space.facts, space.lowering
    regions = [read_region(arguments[key], facts) for key in ("a", "b", "dst")]
    a, b, target = (one for one in regions if one is not None)
    dim = static_value(arguments["dim"], facts)
    assert isinstance(dim, int)
    axis = dim % a.rank
    wide = "float64" if "float64" in (a.dtype, b.dtype) else "float32"
    factors, values = (cast(region_value(space, one), wide).tree for one in (a, b))
    start = read_region(arguments["start"], facts)
    if start is not None:
        first = cast(region_value(space, start), wide).tree
        if a.rank > 1:
            places: list[ast.expr] = [ast.Slice() for _ in range(a.rank)]
            places[axis] = ast.Constant(None)
            first = ast.Subscript(first, ast.Tuple(places, ast.Load()), ast.Load())
        begun = expr("factor * first + value", factor=factors, first=first, value=values)
        if not facts.tiles[a.buffer].is_scalar:
            # Triton holds the elements of short scans in one thread, where this is no work.
            size = a.sizes[axis]
            assert size is not None and a.extents is not None
            lanes = lowering.lanes(size, a.extents[axis], axis, a.rank)
            begun = expr("tl.where(lanes == 0, x, y)", lanes=lanes, x=begun, y=values)
            begun = lowering.assign("begun", begun)
        values = begun
    scanned = values
    if not facts.tiles[a.buffer].is_scalar:
        scanned = expr(
            "tl.associative_scan((a, b), axis, _chained)[1]",
            a=factors,
            b=values,
            axis=ast.Constant(axis),
        )
    write_region(space, target, cast(Value(scanned, wide), target.dtype), node)


def reference(
    a: "Operand", b: "Operand", dst: "Operand", start: "Operand | None" = None, dim: int = 0
) -> None:
    """Step by step, in float32 at least."""
    kind = np.float64 if "float64" in (a.dtype, b.dtype) else np.float32
    factors, values = (np.moveaxis(np.asarray(one.read(), kind), dim, 0) for one in (a, b))
    shape = factors.shape[1:]
    state = np.zeros(shape, kind)
    if start is not None:
        state = np.asarray(start.read(), kind).reshape(shape)
    states = []
    for factor, value in zip(factors, values, strict=True):
        state = factor * state + value
        states.append(state)
    dst.write(np.moveaxis(np.stack(states), 0, dim))


LINEAR_SCAN = Operator(
    surface=linear_scan,
    kind="statement",
    check=check,
    lower=lower,
    reference=reference,
    writes="dst",
    whole=WHOLE_LINEAR_SCAN,
)

OPERATORS = (LINEAR_SCAN,)
