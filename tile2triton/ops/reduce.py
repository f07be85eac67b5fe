"""T.reduce_sum and its kind: combine a tile along one dimension."""

import ast
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from rewrites import tiles
from rewrites.dtypes import bits, is_float
from rewrites.environment import next_power_of_two
from rewrites.errors import Problem
from rewrites.facts import Facts
from rewrites.quote import expr, literal, name
from rewrites.space import Axis, Space
from rewrites.stores import store
from rewrites.values import Value as Typed
from rewrites.values import cast as typed_cast
from tile2triton.ops.base import Operator
from tile2triton.ops.constants import value_of_largest, value_of_lowest
from tile2triton.ops.lowerings import indices_of, space_of_region
from tile2triton.ops.regions import Region, as_written, read_region, region_problems, static_value
from tile2triton.reference.values import Value, cast, compute

if TYPE_CHECKING:
    from tile2triton.reference.operands import Operand

KINDS = ("sum", "max", "min", "abssum", "absmax")


def reduce(
    buffer: Any,
    out: Any,
    reduce_type: str,
    dim: int = -1,
    clear: bool = True,
    batch: int = 1,
    nan_propagate: bool = False,
) -> Any:
    """`T.reduce_sum` and its kind by name: "sum", "max", "min", "abssum" or "absmax".

    | form | meaning | Triton |
    |---|---|---|
    | `T.reduce(x, out, "max", dim=1)` | `T.reduce_max(x, out, dim=1)` | `out = tl.max(x, 1)` |
    """


def reduce_sum(
    buffer: Any,
    out: Any,
    dim: int = -1,
    clear: bool = True,
    batch: int = 1,
    nan_propagate: bool = False,
) -> Any:
    """The sum along `dim`, added up in the type of `out`.

    `out` has the shape of `buffer` without `dim`, or with 1 in its place; a tile of one dimension
    reduces to shape (1,). With `clear=False` the old `out` takes part.

    | form | meaning | Triton |
    |---|---|---|
    | `T.reduce_sum(x, out, dim=1)` | out[i] = sum of x[i, :] | `out = tl.sum(x, 1)` |
    | `T.reduce_sum(x, out, dim=1, clear=False)` | out[i] += the sum | `out += tl.sum(x, 1)` |
    """


def reduce_max(
    buffer: Any,
    out: Any,
    dim: int = -1,
    clear: bool = True,
    batch: int = 1,
    nan_propagate: bool = False,
) -> Any:
    """The largest along `dim`, passing over NaN unless `nan_propagate`. Shapes as `reduce_sum`.

    | form | meaning | Triton |
    |---|---|---|
    | `T.reduce_max(x, out, dim=1)` | out[i] = largest of x[i, :] | `out = tl.max(x, 1)` |
    | `T.reduce_max(x, out, dim=1, clear=False)` | and old out | `tl.maximum(out, tl.max(x, 1))` |
    """


def reduce_min(
    buffer: Any,
    out: Any,
    dim: int = -1,
    clear: bool = True,
    batch: int = 1,
    nan_propagate: bool = False,
) -> Any:
    """The smallest along `dim`, passing over NaN unless `nan_propagate`. Shapes as `reduce_sum`.

    | form | meaning | Triton |
    |---|---|---|
    | `T.reduce_min(x, out, dim=1)` | out[i] = smallest of x[i, :] | `out = tl.min(x, 1)` |
    | `T.reduce_min(x, out, dim=1, clear=False)` | and old out | `tl.minimum(out, tl.min(x, 1))` |
    """


def reduce_abssum(
    buffer: Any, out: Any, dim: int = -1, batch: int = 1, nan_propagate: bool = False
) -> Any:
    """The sum of the absolute values along `dim`. Shapes as `reduce_sum`.

    | form | meaning | Triton |
    |---|---|---|
    | `T.reduce_abssum(x, out, dim=1)` | sum of magnitudes | `out = tl.sum(tl.abs(x), 1)` |
    """


def reduce_absmax(
    buffer: Any,
    out: Any,
    dim: int = -1,
    clear: bool = True,
    batch: int = 1,
    nan_propagate: bool = False,
) -> Any:
    """The largest absolute value along `dim`. Shapes as `reduce_sum`.

    | form | meaning | Triton |
    |---|---|---|
    | `T.reduce_absmax(x, out, dim=1)` | largest magnitude | `out = tl.max(tl.abs(x), 1)` |
    """


def check(call: ast.Call, facts: Facts) -> Iterator[Problem]:
    """A tile reduces along one of its dimensions into a tile that has the others."""
    name = ast.unparse(call.func).rpartition(".")[2]
    arguments = FORMS[name].arguments(call)
    buffer, out, dim = arguments["buffer"], arguments["out"], arguments["dim"]
    kind = arguments.get("reduce_type")
    if kind is not None and not (isinstance(kind, ast.Constant) and kind.value in KINDS):
        yield Problem(
            kind,
            "T2T233",
            f"`{as_written(kind)}` is no kind of reduction",
            (),
            f"write one of {', '.join(map(repr, KINDS))}",
        )
    problems = [*region_problems(buffer, facts), *region_problems(out, facts)]
    yield from problems
    source, target = read_region(buffer, facts), read_region(out, facts)
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
                "copy through a tile from T.alloc_fragment",
            )
            return
    axis = static_value(dim, facts)
    rank = source.rank
    if not isinstance(axis, int) or not -rank <= axis < rank:
        yield Problem(
            dim,
            "T2T231",
            f"`{as_written(buffer)}` has {rank} dimensions, so `dim={as_written(dim)}` is none "
            "of them",
            (f"{as_written(buffer)}: {source.shape_text}",),
            f"write a dim from {-rank} to {rank - 1}",
        )
        return
    axis %= rank
    dropped = source.sizes[:axis] + source.sizes[axis + 1 :] or (1,)
    kept = source.sizes[:axis] + (1,) + source.sizes[axis + 1 :]
    if target.sizes not in (dropped, kept):
        shapes = " or ".join(_shape(sizes) for sizes in dict.fromkeys((dropped, kept)))
        yield Problem(
            call,
            "T2T230",
            f"the output of T.{name} has the wrong shape: `{as_written(buffer)}` reduced along "
            f"dim {axis} is {shapes}",
            (
                f"{as_written(buffer)}: {source.shape_text}",
                f"{as_written(out)}: {target.shape_text}",
            ),
            f"allocate `{as_written(out)}` as {shapes}, or reduce along another dim",
        )


def _shape(sizes: tuple[int | None, ...]) -> str:
    return f"({', '.join(str(size) for size in sizes)}{',' if len(sizes) == 1 else ''})"


def combine(kind: str, left: Value, right: Value, nan_propagate: bool) -> Value:
    """Two values of one reduction combined."""
    if kind in ("sum", "abssum"):
        return compute(np.add, left, right)
    functions = (np.fmin, np.minimum) if kind == "min" else (np.fmax, np.maximum)
    return compute(functions[nan_propagate], left, right)


def reference(
    buffer: "Operand",
    out: "Operand",
    reduce_type: str,
    dim: int = -1,
    clear: bool = True,
    batch: int = 1,
    nan_propagate: bool = False,
) -> None:
    values = cast(buffer.read(), out.dtype)
    if reduce_type.startswith("abs"):
        values = compute(np.abs, values)
    if reduce_type in ("sum", "abssum"):
        result = compute(lambda x: np.sum(x, axis=dim, dtype=x.dtype), values)
    else:
        functions = (np.fmin, np.minimum) if reduce_type == "min" else (np.fmax, np.maximum)
        result = compute(lambda x: functions[nan_propagate].reduce(x, axis=dim), values)
    old = out.read()
    result = result.reshape(old.shape)
    out.write(result if clear else combine(reduce_type, old, result, nan_propagate))


def _named(kind: str) -> Callable[..., None]:
    def reference_of_kind(buffer: "Operand", out: "Operand", **options: Any) -> None:
        reference(buffer, out, kind, **options)

    return reference_of_kind


def lower_kind(kind: str | None) -> Callable[..., None]:
    """A reduction along one axis; padding takes part with the identity of the operation."""

    def lower(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> None:
        named = kind or ast.literal_eval(arguments["reduce_type"])
        _lower(space, named, arguments, node)

    return lower


def _lower(space: Space, kind: str, arguments: dict[str, ast.expr], node: ast.Call) -> None:
    facts = space.facts
    source = read_region(arguments["buffer"], facts)
    target = read_region(arguments["out"], facts)
    dim = static_value(arguments["dim"], facts)
    assert source is not None and target is not None and isinstance(dim, int)
    axis = dim % source.rank
    old_matters = not _flag(arguments, "clear", True)
    propagates = _flag(arguments, "nan_propagate", False)
    dtype = target.dtype
    value = _source(space, source)
    value = typed_cast(value, dtype)
    tree = value.tree
    if kind.startswith("abs"):
        tree = expr("tl.abs(x)", x=tree)
    size = source.sizes[axis]
    assert size is not None
    if next_power_of_two(size) != size and not _padding_is_harmless(space, source, kind):
        assert source.extents is not None
        lanes = space.lowering.lanes(size, source.extents[axis], axis, source.rank)
        tree = expr(
            "tl.where(lanes < n, x, identity)",
            lanes=lanes,
            n=source.extents[axis],
            x=tree,
            identity=literal(_identity(kind, dtype)),
        )
    operation = {"sum": "sum", "abssum": "sum", "min": "min"}.get(kind, "max")
    # A tile of one element is a scalar: the other axes, of extent 1, go with the reduced one.
    along = "" if facts.tiles[target.buffer].is_scalar else f", axis={axis}"
    reduced = expr(f"tl.{operation}(x{along})", x=tree)
    if propagates and operation != "sum" and is_float(dtype):
        reduced = expr(
            f"tl.where(tl.max((x != x).to(tl.int32){along}) != 0, float('nan'), r)",
            x=tree,
            r=reduced,
        )
    result = Typed(reduced, dtype)
    if bits(dtype) < 32:
        # Triton reduces narrow types in 32 bits and leaves the result there.
        result = typed_cast(Typed(reduced, "float32" if is_float(dtype) else "int32"), dtype)
    _store(space, kind, result, source, target, axis, old_matters, propagates, node)


def _store(
    space: Space,
    kind: str,
    result: Typed,
    source: Region,
    target: Region,
    axis: int,
    old_matters: bool,
    propagates: bool,
    node: ast.Call,
) -> None:
    """Combine with the old output where it matters, and give the result the output's shape."""
    tile = space.facts.tiles[target.buffer]
    kept = target.rank == source.rank and source.rank > 1
    if not (target.whole or tile.is_scalar):
        dimensions = tuple(d for d, size in enumerate(target.sizes) if size != 1)
        sizes = tuple(target.sizes[d] for d in dimensions)
        assert target.extents is not None
        extents = tuple(target.extents[d] for d in dimensions)
        inner = space_of_region(space, target, dimensions, sizes, extents, node)
        indices = indices_of(target, inner, dimensions)
        value = Typed(result.tree, result.dtype, frozenset(range(inner.rank)))
        if old_matters:
            old = tiles.read(inner, target.buffer, indices, target.node)
            tree = _combined(kind, old.tree, value.tree, propagates, value.dtype)
            value = Typed(tree, value.dtype, value.axes)
        store(inner, target.buffer, indices, value, node)
        return
    tree = result.tree
    if kept:
        parts: list[ast.expr] = [
            ast.Constant(None) if d == axis else ast.Slice() for d in range(source.rank)
        ]
        tree = ast.Subscript(tree, ast.Tuple(parts, ast.Load()), ast.Load())
    if old_matters:
        tree = _combined(kind, name(target.buffer), tree, propagates, target.dtype)
    space.lowering.emit("target = value", target=target.buffer, value=tree)


def _combined(kind: str, old: ast.expr, new: ast.expr, propagates: bool, dtype: str) -> ast.expr:
    if kind in ("sum", "abssum"):
        return expr("old + new", old=old, new=new)
    function = "tl.minimum" if kind == "min" else "tl.maximum"
    nan = ", propagate_nan=tl.PropagateNan.ALL" if propagates else ""
    # Of two bfloat16 Triton 3.6 gives a float32, which a loop could not carry.
    narrow = ".to(tl.bfloat16)" if dtype == "bfloat16" else ""
    return expr(f"{function}(old, new{nan}){narrow}", old=old, new=new)


def _source(space: Space, region: Region) -> Typed:
    if region.whole:
        return Typed(name(region.buffer), region.dtype)
    dimensions = tuple(range(region.rank))
    assert region.extents is not None
    axes = []
    for d in dimensions:
        size = region.sizes[d]
        assert size is not None
        axes.append(Axis.of(f"{region.buffer.lower()}_{d} axis", size, region.extents[d]))
    inner = Space(space.lowering, tuple(axes))
    indices = indices_of(region, inner, dimensions)
    return tiles.read(inner, region.buffer, indices, region.node)


def _padding_is_harmless(space: Space, source: Region, kind: str) -> bool:
    """Zeros take no part in sums and in maxima of absolute values."""
    is_zero = source.whole and source.buffer in space.lowering.zero_padded
    return is_zero and kind in ("sum", "abssum", "absmax")


def _identity(kind: str, dtype: str) -> int | float:
    if kind in ("sum", "abssum", "absmax"):
        return 0.0 if is_float(dtype) else 0
    if is_float(dtype):
        return float("inf") if kind == "min" else float("-inf")
    return value_of_largest(dtype) if kind == "min" else value_of_lowest(dtype)


def _flag(arguments: dict[str, ast.expr], parameter: str, default: bool) -> bool:
    tree = arguments.get(parameter, ast.Constant(default))
    return bool(tree.value) if isinstance(tree, ast.Constant) else default


def keeps(arguments: dict[str, ast.expr]) -> bool:
    """Whether the old output takes part."""
    return not _flag(arguments, "clear", True)


REDUCE = Operator(
    surface=reduce,
    lower=lower_kind(None),
    writes="out",
    keeps=keeps,
    kind="statement",
    check=check,
    reference=reference,
)
REDUCE_SUM = Operator(
    surface=reduce_sum,
    lower=lower_kind("sum"),
    writes="out",
    keeps=keeps,
    kind="statement",
    check=check,
    reference=_named("sum"),
)
REDUCE_MAX = Operator(
    surface=reduce_max,
    lower=lower_kind("max"),
    writes="out",
    keeps=keeps,
    kind="statement",
    check=check,
    reference=_named("max"),
)
REDUCE_MIN = Operator(
    surface=reduce_min,
    lower=lower_kind("min"),
    writes="out",
    keeps=keeps,
    kind="statement",
    check=check,
    reference=_named("min"),
)
REDUCE_ABSSUM = Operator(
    surface=reduce_abssum,
    lower=lower_kind("abssum"),
    writes="out",
    keeps=keeps,
    kind="statement",
    check=check,
    reference=_named("abssum"),
)
REDUCE_ABSMAX = Operator(
    surface=reduce_absmax,
    lower=lower_kind("absmax"),
    writes="out",
    keeps=keeps,
    kind="statement",
    check=check,
    reference=_named("absmax"),
)

OPERATORS = (REDUCE, REDUCE_SUM, REDUCE_MAX, REDUCE_MIN, REDUCE_ABSSUM, REDUCE_ABSMAX)
FORMS = {operator.name: operator for operator in OPERATORS}
