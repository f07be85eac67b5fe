"""T.atomic_load and T.atomic_store: one element, ordered with other programs' accesses."""

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rewrites import tensors
from rewrites.dtypes import bits, is_float
from rewrites.errors import Problem
from rewrites.facts import Facts
from rewrites.quote import expr, literal, name
from rewrites.space import Space
from rewrites.stores import store
from rewrites.values import Value, cast, triton_dtype
from tile2triton.ops.atomic_lowering import order_problems, triton_order
from tile2triton.ops.base import Operator
from tile2triton.ops.regions import as_written, is_element, read_region, region_problems
from tile2triton.reference.named import value_of
from tile2triton.reference.values import Value as Number

if TYPE_CHECKING:
    from tile2triton.reference.operands import Operand

LOAD_ORDERS = ("relaxed", "consume", "acquire", "seq_cst")
STORE_ORDERS = ("relaxed", "release", "seq_cst")
# Triton exchanges words of these widths.
EXCHANGED_BITS = (32, 64)


def atomic_load(src: Any, memory_order: str = "seq_cst") -> Any:
    """One element of a tensor, read after what its writer published with it.

    | form | meaning | Triton |
    |---|---|---|
    | `T.atomic_load(flags[i])` | flags[i], in order | `tl.atomic_or(flags + i, 0, sem="acq_rel")` |
    | `T.atomic_load(x[i], "relaxed")` | x[i], past the caches | `tl.load(…, volatile=True)` |
    """


def atomic_store(dst: Any, src: Any, memory_order: str = "seq_cst") -> None:
    """Set one element of a tensor, after all that the program stored before.

    | form | meaning | Triton |
    |---|---|---|
    | `T.atomic_store(flags[i], 1)` | flags[i] = 1, in order | `tl.atomic_xchg(flags + i, 1)` |
    | `T.atomic_store(x[i], y, "relaxed")` | x[i] = y | `tl.store(x + i, y)` |
    """


def check(call: ast.Call, facts: Facts) -> Iterator[Problem]:
    """One element of a tensor, whose words can be exchanged unless the order is relaxed."""
    operator = ast.unparse(call.func).rpartition(".")[2]
    arguments = facts.operators[operator].arguments(call)
    loads = operator == "atomic_load"
    orders = LOAD_ORDERS if loads else STORE_ORDERS
    order = arguments["memory_order"]
    yield from order_problems(order, orders, operator)
    operand = arguments["src" if loads else "dst"]
    problems = list(region_problems(operand, facts))
    region = read_region(operand, facts)
    if problems or region is None:
        yield from problems
        return
    if not is_element(operand) and any(size != 1 for size in region.sizes):
        yield Problem(
            operand,
            "T2T622",
            f"T.{operator} takes one element, but `{as_written(operand)}` is more",
            (f"{as_written(operand)}: {region.shape_text}",),
            f"write `{region.buffer}[i]` in a T.Parallel loop",
        )
    is_relaxed = isinstance(order, ast.Constant) and order.value == "relaxed"
    if region.is_tensor and not is_relaxed and bits(region.dtype) not in EXCHANGED_BITS:
        yield Problem(
            operand,
            "T2T240",
            f"there is no ordered access to {region.dtype}",
            (f"{as_written(operand)}: {region.dtype}",),
            'use a tensor of 32 or 64 bits, or memory_order="relaxed"',
        )


def lower_load(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> Value:
    """Nothing is set in the element, so that its old value comes back and stays."""
    source = read_region(arguments["src"], space.facts)
    assert source is not None
    indices = list(source.starts)
    if not source.is_tensor:
        return space.read(source.node, source.buffer, indices)
    dtype = source.dtype
    order = triton_order(arguments["memory_order"])
    if order == "relaxed":
        where = tensors.address(space, source.buffer, indices, node, loads=True)
        tree = tensors.load(space, space.facts.tensors[source.buffer], where)
        loaded = tree if isinstance(tree, ast.Call) else None
        assert loaded is not None
        loaded.keywords.append(ast.keyword("volatile", ast.Constant(True)))
        return Value(name(space.lowering.assign("loaded", tree).id), dtype, where.axes)
    where = tensors.address(space, source.buffer, indices, node)
    whole = f"int{bits(dtype)}" if is_float(dtype) else dtype
    pointer = where.pointer
    if whole != dtype:
        pointer = expr(
            "pointer.to(tl.pointer_type(dtype), bitcast=True)",
            pointer=pointer,
            dtype=triton_dtype(whole),
        )
    call = expr("tl.atomic_or(pointer, 0)", pointer=pointer)
    assert isinstance(call, ast.Call)
    if where.mask is not None:
        call.keywords.append(ast.keyword("mask", where.mask.tree))
    call.keywords.append(ast.keyword("sem", literal(order)))
    loaded_name = space.lowering.assign("loaded", call)
    tree = name(loaded_name.id)
    if where.mask is not None:
        tree = expr("tl.where(mask, x, 0)", mask=where.mask.tree, x=tree)
    if whole != dtype:
        tree = expr("x.to(dtype, bitcast=True)", x=tree, dtype=triton_dtype(dtype))
    return Value(tree, dtype, where.axes)


def lower_store(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> None:
    target = read_region(arguments["dst"], space.facts)
    assert target is not None
    value = space.value(arguments["src"])
    order = triton_order(arguments["memory_order"])
    if order == "relaxed" or not target.is_tensor:
        store(space, target.buffer, list(target.starts), value, node)
        return
    where = tensors.address(space, target.buffer, list(target.starts), node)
    tensors.refuse_races(space, where.axes, node, target.buffer, value)
    call = expr(
        "tl.atomic_xchg(pointer, value)",
        pointer=where.pointer,
        value=cast(value, target.dtype).tree,
    )
    assert isinstance(call, ast.Call)
    if where.mask is not None:
        call.keywords.append(ast.keyword("mask", where.mask.tree))
    call.keywords.append(ast.keyword("sem", literal(order)))
    space.lowering.out.append(ast.Expr(call))


def reference_of_load(src: "Operand", memory_order: str = "seq_cst") -> Number:
    return src.element() if src.is_element else src.read().reshape(())[()]


def reference_of_store(dst: "Operand", src: Any, memory_order: str = "seq_cst") -> None:
    dst.write(value_of(src))


OPERATORS = (
    Operator(
        surface=atomic_load,
        lower=lower_load,
        kind="expression",
        check=check,
        reference=reference_of_load,
        takes_regions=True,
    ),
    Operator(
        surface=atomic_store,
        lower=lower_store,
        writes="dst",
        kind="statement",
        check=check,
        reference=reference_of_store,
    ),
)
