"""T.cumsum and T.cummax: what a tile comes to up to each element along one dimension."""

import ast
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from rewrites.combinations import MAX, SUM, Combination, neutral
from rewrites.dtypes import bits, is_float
from rewrites.environment import next_power_of_two
from rewrites.errors import Problem
from rewrites.facts import Facts
from rewrites.quote import expr, literal
from rewrites.space import Space
from rewrites.values import Value, cast
from tile2triton.ops.base import Operator, WholeForm
from tile2triton.ops.regions import as_written, read_region, region_problems, static_value
from tile2triton.ops.whole.scans import CUMMAX, CUMSUM
from tile2triton.ops.whole_tiles import region_value, write_region
from tile2triton.reference.values import Value as Number
from tile2triton.reference.values import compute

if TYPE_CHECKING:
    from tile2triton.reference.operands import Operand


def cumsum(
    src: Any, dst: Any = None, dim: int = 0, reverse: bool = False, annotations: Any = None
) -> Any:
    """Each element becomes the sum of all up to it along `dim`, from the end with `reverse`.

    `dst` has the shape of `src`; without it the tile itself changes. Sums have the type of `src`;
    those of narrow floats are added up in float32 and rounded once.

    | form | meaning | Triton |
    |---|---|---|
    | `T.cumsum(x, dim=1)` | x[i, j] = sum of x[i, : j + 1] | `x = tl.cumsum(x, 1)` |
    | `T.cumsum(x, y, dim=0)` | y[i] = sum of x[: i + 1] | `y = tl.cumsum(x, 0)` |
    | `T.cumsum(x, reverse=True)` | x[i] = sum of x[i:] | `x = tl.cumsum(x, 0, reverse=True)` |
    """


def cummax(
    src: Any, dst: Any = None, dim: int = 0, reverse: bool = False, annotations: Any = None
) -> Any:
    """Each element becomes the largest of all up to it along `dim`, NaN passed over.

    Forms as `cumsum`.

    | form | meaning | Triton |
    |---|---|---|
    | `T.cummax(x, dim=1)` | largest of x[i, : j + 1] | `tl.associative_scan(x, 1, _larger)` |
    """


def check(call: ast.Call, facts: Facts) -> Iterator[Problem]:
    """A tile is scanned along one of its dimensions, into a tile of the same shape."""
    name = ast.unparse(call.func).rpartition(".")[2]
    arguments = facts.operators[name].arguments(call)
    src, dst, dim = arguments["src"], arguments["dst"], arguments["dim"]
    problems = [*region_problems(src, facts), *region_problems(dst, facts)]
    yield from problems
    source, target = read_region(src, facts), read_region(dst, facts)
    if problems or source is None or target is None:
        return
    for region in (source, target):
        if region.is_tensor:
            yield Problem(
                region.node,
                "T2T232",
                f"T.{name} works on tiles on the chip, but `{as_written(region.node)}` is a "
                "global tensor",
                (),
                "copy through a tile from T.alloc_shared",
            )
            return
    axis, rank = static_value(dim, facts), source.rank
    if not isinstance(axis, int) or not -rank <= axis < rank:
        yield Problem(
            dim,
            "T2T231",
            f"`{as_written(src)}` has {rank} dimensions, so `dim={as_written(dim)}` is none of "
            "them",
            (f"{as_written(src)}: {source.shape_text}",),
            f"write a dim from {-rank} to {rank - 1}",
        )
    elif source.sizes != target.sizes or None in source.sizes:
        yield Problem(
            call,
            "T2T613",
            f"T.{name} keeps the shape of `{as_written(src)}`",
            (
                f"{as_written(src)}: {source.shape_text}",
                f"{as_written(dst)}: {target.shape_text}",
            ),
            f"make `{as_written(dst)}` a tile of shape {source.shape_text}",
        )


def complete(given: dict[str, Any]) -> dict[str, Any]:
    """Without a destination the source is one."""
    return given if given.get("dst") is not None else {**given, "dst": given["src"]}


def lower_scan(combination: Combination, template: str) -> Callable[..., None]:
    """A scan in at least 32 bits; what lies beyond the tile's extent comes last or is neutral."""

    def lower(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> None:
        facts = space.facts
        source = read_region(arguments["src"], facts)
        target = read_region(arguments["dst"], facts)
        dim = static_value(arguments["dim"], facts)
        assert source is not None and target is not None and isinstance(dim, int)
        axis = dim % source.rank
        backwards = bool(static_value(arguments["reverse"], facts))
        value = region_value(space, source)
        if facts.tiles[source.buffer].is_scalar:
            write_region(space, target, value, node)
            return
        dtype = source.dtype
        wide = dtype if bits(dtype) >= 32 else "float32" if is_float(dtype) else "int32"
        tree = cast(value, wide).tree
        size = source.sizes[axis]
        assert size is not None
        if backwards and next_power_of_two(size) != size:
            assert source.extents is not None
            # Before a number NaN changes nothing, and before NaN it leaves NaN.
            is_of_nan = combination is MAX and is_float(dtype)
            tree = expr(
                "tl.where(lanes < n, x, nothing)",
                lanes=space.lowering.lanes(size, source.extents[axis], axis, source.rank),
                n=source.extents[axis],
                x=tree,
                nothing=literal(float("nan")) if is_of_nan else neutral(combination, wide),
            )
        scanned = expr(template, x=tree, axis=ast.Constant(axis))
        if backwards:
            assert isinstance(scanned, ast.Call)
            scanned.keywords.append(ast.keyword("reverse", ast.Constant(True)))
        write_region(space, target, cast(Value(scanned, wide), dtype), node)

    return lower


def _reference(function: np.ufunc) -> Callable[..., None]:
    def reference(
        src: "Operand",
        dst: "Operand",
        dim: int = 0,
        reverse: bool = False,
        annotations: Any = None,
    ) -> None:
        def scan(x: Number) -> Number:
            turned = np.flip(x, dim) if reverse else x
            result = function.accumulate(turned, axis=dim, dtype=x.dtype)
            return np.flip(result, dim) if reverse else result

        dst.write(compute(scan, src.read()))

    return reference


def _operator(
    surface: Callable[..., Any],
    combination: Combination,
    template: str,
    function: np.ufunc,
    whole: WholeForm,
) -> Operator:
    return Operator(
        surface=surface,
        lower=lower_scan(combination, template),
        writes="dst",
        kind="statement",
        check=check,
        reference=_reference(function),
        complete=complete,
        whole=whole,
    )


OPERATORS = (
    _operator(cumsum, SUM, "tl.cumsum(x, axis)", np.add, CUMSUM),
    _operator(cummax, MAX, "tl.associative_scan(x, axis, _larger)", np.fmax, CUMMAX),
)
