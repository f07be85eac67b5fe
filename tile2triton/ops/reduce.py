"""T.reduce_sum and its kind: combine a tile along one dimension."""

import ast
import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from rewrites.dtypes import bits, is_float
from rewrites.errors import Problem
from rewrites.facts import Facts
from tile2triton.ops.base import Made, Operator, Source, WholeForm
from tile2triton.ops.reduce_lowering import keeps, lower_kind
from tile2triton.ops.regions import as_written, read_region, region_problems, static_value
from tile2triton.ops.whole import reductions
from tile2triton.reference.values import Value, cast, compute

if TYPE_CHECKING:
    from tile2triton.reference.operands import Operand

KINDS = ("sum", "max", "min", "abssum", "absmax", "bitand", "bitor", "bitxor")
BIT_KINDS: dict[str, np.ufunc] = {
    "bitand": np.bitwise_and,
    "bitor": np.bitwise_or,
    "bitxor": np.bitwise_xor,
}


def reduce(
    buffer: Any,
    out: Any,
    reduce_type: str,
    dim: int = -1,
    clear: bool = True,
    batch: int = 1,
    nan_propagate: bool = False,
    annotations: Any = None,
) -> Any:
    """`T.reduce_sum` and its kind by the name that stands behind `reduce_`.

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
    annotations: Any = None,
) -> Any:
    """The sum along `dim`, added up in the type of `out`.

    `out` has the shape of `buffer` without `dim`, or with 1 in its place; a tile of one dimension
    reduces to shape (1,). With `clear=False` the old `out` takes part.

    | form | meaning | Triton |
    |---|---|---|
    | `T.reduce_sum(x, out, dim=1)` | out[i] = sum of x[i, :] | `out = tl.sum(x, 1)` |
    | `T.reduce_sum(x, out, dim=1, clear=False)` | out[i] += the sum | `out += tl.sum(x, 1)` |
    | `out = T.reduce_sum(x, dim=1)` | a new tile, of at least 32 bits | `out = tl.sum(x, 1)` |
    """


def reduce_max(
    buffer: Any,
    out: Any,
    dim: int = -1,
    clear: bool = True,
    batch: int = 1,
    nan_propagate: bool = False,
    annotations: Any = None,
) -> Any:
    """The largest along `dim`, passing over NaN unless `nan_propagate`. Shapes as `reduce_sum`.

    | form | meaning | Triton |
    |---|---|---|
    | `T.reduce_max(x, out, dim=1)` | out[i] = largest of x[i, :] | `out = tl.max(x, 1)` |
    | `T.reduce_max(x, out, dim=1, clear=False)` | and old out | `tl.maximum(out, tl.max(x, 1))` |
    | `out = T.reduce_max(x, dim=1)` | a new tile of the type of x | `out = tl.max(x, 1)` |
    """


def reduce_min(
    buffer: Any,
    out: Any,
    dim: int = -1,
    clear: bool = True,
    batch: int = 1,
    nan_propagate: bool = False,
    annotations: Any = None,
) -> Any:
    """The smallest along `dim`, passing over NaN unless `nan_propagate`. Shapes as `reduce_sum`.

    | form | meaning | Triton |
    |---|---|---|
    | `T.reduce_min(x, out, dim=1)` | out[i] = smallest of x[i, :] | `out = tl.min(x, 1)` |
    | `T.reduce_min(x, out, dim=1, clear=False)` | and old out | `tl.minimum(out, tl.min(x, 1))` |
    """


def reduce_abssum(
    buffer: Any,
    out: Any,
    dim: int = -1,
    batch: int = 1,
    nan_propagate: bool = False,
    annotations: Any = None,
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
    annotations: Any = None,
) -> Any:
    """The largest absolute value along `dim`. Shapes as `reduce_sum`.

    | form | meaning | Triton |
    |---|---|---|
    | `T.reduce_absmax(x, out, dim=1)` | largest magnitude | `out = tl.max(tl.abs(x), 1)` |
    """


def made(kind: str, sources: dict[str, Source], options: dict[str, Any]) -> Made:
    """The tile without `dim`; sums are made in 32 bits at least."""
    source = sources["buffer"]
    rank = len(source.shape)
    axis = options.get("dim", -1) % rank
    dtype = source.dtype
    if kind in ("sum", "abssum") and bits(dtype) < 32:
        dtype = "float32" if is_float(dtype) else "int32"
    shape = source.shape[:axis] + source.shape[axis + 1 :] or (1,)
    # T.reduce_abssum has no `clear`: it always starts anew.
    clears = {} if kind == "abssum" else {"clear": True}
    return Made(shape, dtype, "reduced", clears)


def check(call: ast.Call, facts: Facts) -> Iterator[Problem]:
    """A tile reduces along one of its dimensions into a tile that has the others."""
    name = ast.unparse(call.func).rpartition(".")[2]
    arguments = facts.operators[name].arguments(call)
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
    named = kind.value if isinstance(kind, ast.Constant) else name.removeprefix("reduce_")
    if named in BIT_KINDS and is_float(target.dtype):
        yield Problem(
            out,
            "T2T612",
            f"T.{name} combines bits, but `{as_written(out)}` holds {target.dtype}",
            (f"{as_written(out)}: {target.dtype}",),
            "reduce into a tile of integers or bool; T.reinterpret gives the bits of floats",
        )
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
    if kind in BIT_KINDS:
        return compute(BIT_KINDS[kind], left, right)
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
    annotations: Any = None,
) -> None:
    values = cast(buffer.read(), out.dtype)
    if reduce_type.startswith("abs"):
        values = compute(np.abs, values)
    if reduce_type in ("sum", "abssum"):
        result = compute(lambda x: np.sum(x, axis=dim, dtype=x.dtype), values)
    elif reduce_type in BIT_KINDS:
        result = compute(lambda x: BIT_KINDS[reduce_type].reduce(x, axis=dim), values)
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


def reduction(
    surface: Callable[..., Any], kind: str | None, whole: WholeForm | None = None
) -> Operator:
    """A reduction of a fixed kind, or the one that takes its kind by name."""
    return Operator(
        surface=surface,
        lower=lower_kind(kind),
        writes="out",
        keeps=keeps,
        kind="statement",
        check=check,
        reference=reference if kind is None else _named(kind),
        makes=None if kind is None else functools.partial(made, kind),
        whole=whole,
    )


OPERATORS = (
    reduction(reduce, None, reductions.REDUCE),
    reduction(reduce_sum, "sum", reductions.form_of("sum")),
    reduction(reduce_max, "max", reductions.form_of("max")),
    reduction(reduce_min, "min", reductions.form_of("min")),
    reduction(reduce_abssum, "abssum"),
    reduction(reduce_absmax, "absmax"),
)
