"""T.print and T.device_assert: what a kernel says while it runs."""

import ast
from collections.abc import Iterator
from typing import Any

import numpy as np

from rewrites.dtypes import bits
from rewrites.errors import Problem, refuse
from rewrites.facts import Facts
from rewrites.scalars import as_condition, logical, negate_condition
from rewrites.space import Space
from rewrites.values import Value, cast, strong
from tile2triton.ops.base import Operator
from tile2triton.ops.lowerings import indices_of, space_of_region
from tile2triton.ops.regions import as_written, is_element, is_region, read_region
from tile2triton.reference.named import value_of


def print(obj: Any = None, msg: str = "", warp_group_id: int = 0, warp_id: int = 0) -> None:
    """Print a scalar, a tile or a part of a tensor, behind `msg`. Warps are not told apart.

    | form | meaning | Triton |
    |---|---|---|
    | `T.print(x, msg="x is")` | the value, from every program | `tl.device_print("x is", x)` |
    | `T.print(tile)` | all elements with their indices | `tl.device_print("tile", tile)` |
    """


def device_assert(condition: Any, msg: str = "", no_stack_info: bool = False) -> None:
    """Stop the launch with `msg` where the condition does not hold.

    On a GPU Triton looks at it only where TRITON_DEBUG=1 is set; on the CPU it always holds.

    | form | meaning | Triton |
    |---|---|---|
    | `T.device_assert(n > 0, "empty")` | a check of a run | `tl.device_assert(n > 0, "empty")` |
    """


def check_print(call: ast.Call, facts: Facts) -> Iterator[Problem]:
    """A message is text; a tensor is printed where its size is known."""
    arguments = facts.operators["print"].arguments(call)
    obj = arguments["obj"]
    region = read_region(obj, facts) if is_region(obj, facts) else None
    if region is not None and None in region.sizes:
        yield Problem(
            obj,
            "T2T621",
            f"`{as_written(obj)}` has a size that is known only at run time",
            (f"{as_written(obj)}: {region.shape_text}",),
            "print a part of it, such as `A[0:16]`",
        )


def lower_print(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> None:
    obj, message = arguments["obj"], arguments["msg"]
    text = str(ast.literal_eval(message))
    if isinstance(obj, ast.Constant) and obj.value is None:
        space.lowering.emit("tl.device_print(text)", text=ast.Constant(text or " "))
        return
    if space.conditions and space.axes:
        raise refuse(
            node,
            "T2T621",
            f"`{ast.unparse(node)}` would print for some iterations only",
            hint="print in front of the `if`, or store what is printed in a tile first",
        )
    value = _printed(space, obj, node)
    # Triton prints what the C function printf has a format for.
    if bits(value.dtype) < 32 or value.dtype == "bool":
        wide = "int32" if "int" in value.dtype or value.dtype == "bool" else "float32"
        value = cast(value, wide)
    prefix = ast.Constant(text or as_written(obj))
    space.lowering.emit("tl.device_print(text, x)", text=prefix, x=strong(value).tree)


def _printed(space: Space, obj: ast.expr, node: ast.Call) -> Value:
    region = read_region(obj, space.facts) if is_region(obj, space.facts) else None
    if region is None or is_element(obj) or region.extents is None:
        return space.value(obj)
    axes = tuple(d for d, size in enumerate(region.sizes) if size != 1)
    sizes = tuple(region.sizes[d] for d in axes)
    extents = tuple(region.extents[d] for d in axes)
    inner = space_of_region(space, region, axes, sizes, extents, node)
    return inner.read(region.node, region.buffer, indices_of(region, inner, axes))


def lower_assert(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> None:
    condition = as_condition(space.value(arguments["condition"]))
    surplus = [m for p in sorted(condition.axes) if (m := space.in_extent(p)) is not None]
    guards = [*space.conditions, *surplus]
    if guards:
        # Where a guard does not hold nothing is asserted.
        skipped = negate_condition(logical(ast.And(), guards))
        condition = logical(ast.Or(), [skipped, condition])
    text = str(ast.literal_eval(arguments["msg"])) or ast.unparse(arguments["condition"])
    space.lowering.emit(
        "tl.device_assert(condition, text)",
        condition=strong(cast(condition, "bool")).tree,
        text=ast.Constant(text),
    )


def reference_of_print(
    obj: Any = None, msg: str = "", warp_group_id: int = 0, warp_id: int = 0
) -> None:
    """Printing changes nothing."""


def reference_of_assert(
    state: Any, condition: Any, msg: str = "", no_stack_info: bool = False
) -> None:
    holds = np.asarray(value_of(condition)) != 0
    if state.mask is not None:
        holds = holds | ~np.asarray(state.mask)
    assert holds.all(), msg or "the condition does not hold"


OPERATORS = (
    Operator(
        surface=print,
        lower=lower_print,
        kind="statement",
        check=check_print,
        reference=reference_of_print,
    ),
    Operator(
        surface=device_assert,
        lower=lower_assert,
        kind="statement",
        reference=reference_of_assert,
        takes_state=True,
    ),
)
