"""T.atomic_add: add to a tensor that several programs add to."""

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rewrites import tensors, tiles
from rewrites.errors import Problem, refuse
from rewrites.facts import Facts
from rewrites.quote import expr, literal, name
from rewrites.space import Space
from rewrites.updates import missing_axes, total_over
from rewrites.values import Value, cast
from tile2triton.ops.base import Operator
from tile2triton.ops.lowerings import indices_of, space_of_region
from tile2triton.ops.regions import (
    Region,
    as_written,
    copy_problems,
    is_element_form,
    match_copy,
    read_region,
    region_problems,
)

if TYPE_CHECKING:
    from tile2triton.reference.operands import Operand

DTYPES = (
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "int32",
    "uint32",
    "int64",
    "uint64",
)
ORDERS = (None, "relaxed", "acquire", "release", "acq_rel", "seq_cst")


def atomic_add(
    dst: Any,
    value: Any,
    memory_order: Any = None,
    return_prev: bool = False,
    use_tma: bool = False,
    annotations: Any = None,
) -> Any:
    """Add `value`, cast to the type of `dst`, so that no addition of another program is lost.

    With two regions, `dst` is the part of a tensor and `value` the tile, with the rules of
    `T.copy`. With one element, `value` is an expression. What lies outside of the tensor is
    dropped. `use_tma` is a hint.

    | form | meaning | Triton |
    |---|---|---|
    | `T.atomic_add(C[i, j], tile)` | C from i, j on += tile | `tl.atomic_add(…, tile, mask=…)` |
    | `T.atomic_add(C[i, j], x)` in `T.Parallel` | C[i, j] += x | `tl.atomic_add(…, x, mask=…)` |
    | `p = T.atomic_add(n[0], 1, return_prev=True)` | the value before | `p = tl.atomic_add(n, 1)` |
    """


def check(call: ast.Call, facts: Facts) -> Iterator[Problem]:
    """A tensor of a type that has atomics; regions match as in T.copy."""
    arguments = ATOMIC_ADD.arguments(call)
    dst, value = arguments["dst"], arguments["value"]
    order = arguments["memory_order"]
    if not (isinstance(order, ast.Constant) and order.value in ORDERS):
        yield Problem(
            order,
            "T2T243",
            f"`memory_order={as_written(order)}` is no memory order",
            (),
            f"leave it out, or write one of {', '.join(repr(name) for name in ORDERS[1:])}",
        )
    problems = list(region_problems(dst, facts))
    region = read_region(dst, facts)
    if problems or region is None:
        yield from problems
        return
    if not region.is_tensor:
        yield Problem(
            dst,
            "T2T241",
            f"T.atomic_add adds to a global tensor, but `{as_written(dst)}` is a tile of this "
            "program alone",
            (),
            f"write `{as_written(dst)} += {as_written(value)}` in a T.Parallel loop",
        )
        return
    if region.dtype not in DTYPES:
        yield Problem(
            dst,
            "T2T240",
            f"there is no atomic addition for {region.dtype}",
            (f"{as_written(dst)}: {region.dtype}",),
            f"use one of {', '.join(DTYPES)} for `{region.buffer}`",
        )
    if is_element_form(dst, value, facts):
        return
    returns = arguments["return_prev"]
    if isinstance(returns, ast.Constant) and returns.value:
        yield Problem(
            call,
            "T2T242",
            "return_prev=True works on one element, not on a region",
            (f"{as_written(dst)}: {region.shape_text}",),
            "write the addition per element in a T.Parallel loop",
        )
    yield from copy_problems(call, value, dst, facts, "T.atomic_add")


def reference(
    dst: "Operand",
    value: Any,
    memory_order: Any = None,
    return_prev: bool = False,
    use_tma: bool = False,
    annotations: Any = None,
) -> Any:
    return dst.add(value, return_prev)


def lower(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> Value | None:
    """`tl.atomic_add`; the region form adds a tile at a region's addresses."""
    facts = space.facts
    target = read_region(arguments["dst"], facts)
    assert target is not None
    order = ast.literal_eval(arguments["memory_order"]) or "relaxed"
    returns = bool(ast.literal_eval(arguments["return_prev"]))
    if is_element_form(arguments["dst"], arguments["value"], facts):
        value = space.value(arguments["value"])
        return _add(space, target, list(target.starts), value, order, returns, node)
    source = read_region(arguments["value"], facts)
    assert source is not None
    match = match_copy(source, target, facts)
    assert match is not None
    inner = space_of_region(space, target, match.destination_axes, match.sizes, match.extents, node)
    indices = indices_of(source, inner, match.source_axes)
    value = tiles.read(inner, source.buffer, indices, source.node)
    targets = indices_of(target, inner, match.destination_axes)
    return _add(inner, target, targets, value, order, returns, node)


def _add(
    space: Space,
    target: Region,
    indices: list[ast.expr],
    value: Value,
    order: str,
    returns: bool,
    node: ast.Call,
) -> Value | None:
    dtype = target.dtype
    missing = missing_axes(space, indices)
    if missing and returns:
        raise refuse(
            node,
            "T2T325",
            f"every `{space.axes[missing[0]].variable}` asks what `{target.buffer}` held before",
            found=(f"`{ast.unparse(node)}`",),
            hint="index an element of its own for each iteration, or add outside of T.Parallel",
        )
    if missing:
        # Many elements meet in one address: they are added up first, then added once.
        space, value = total_over(space, value, missing, dtype)
    where = tensors.address(space, target.buffer, indices, node)
    call = expr(
        "tl.atomic_add(pointer, value)", pointer=where.pointer, value=cast(value, dtype).tree
    )
    assert isinstance(call, ast.Call)
    if where.mask is not None:
        call.keywords.append(ast.keyword("mask", where.mask.tree))
    triton_order = "acq_rel" if order == "seq_cst" else order
    call.keywords.append(ast.keyword("sem", literal(triton_order)))
    if returns:
        previous = space.lowering.assign("previous", call)
        return Value(name(previous.id), dtype, where.axes)
    space.lowering.out.append(ast.Expr(call))
    return None


ATOMIC_ADD = Operator(
    surface=atomic_add,
    lower=lower,
    writes="dst",
    keeps=lambda arguments: True,
    kind="statement",
    check=check,
    reference=reference,
)

OPERATORS = (ATOMIC_ADD,)
