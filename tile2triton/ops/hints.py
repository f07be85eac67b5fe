"""What changes no result: hints to a compiler, and what orders or asserts."""

import ast
from collections.abc import Iterator
from typing import Any

import numpy as np

from rewrites.errors import Problem
from rewrites.facts import Facts
from rewrites.scalars import as_condition
from rewrites.space import Space
from rewrites.values import cast
from tile2triton.ops.base import Operator
from tile2triton.ops.hint_numbers import PROGRAMS, REGISTERS, checked_number
from tile2triton.ops.regions import as_written, static_value
from tile2triton.reference.named import value_of

ORDERS = ("row", "column", "mlx")


def use_swizzle(panel_size: int, order: str = "row", enable: bool = True) -> Any:
    """Number the programs so that those that run together share what they load.

    | form | meaning | Triton |
    |---|---|---|
    | `T.use_swizzle(8)` | panels of 8 rows of programs | `tl.swizzle2d` on the program ids |
    """


def annotate_layout(layout_map: Any) -> Any:
    """How a shared tile lies in memory: Triton's own way, or a patch of what it compiles to.

    | form | meaning | Triton |
    |---|---|---|
    | `T.annotate_layout({s: layout})` | a hint | nothing, or a patch |
    """


def annotate_restrict_buffers(*buffers: Any) -> Any:
    """That tensors may overlap, which Triton takes for granted.

    | form | meaning | Triton |
    |---|---|---|
    | `T.annotate_restrict_buffers(A, B)` | a hint | nothing |
    """


def annotate_l2_hit_ratio(l2_hit_ratio_map: Any) -> Any:
    """How much of a tensor stays in the L2 cache; not applied, and reported.

    | form | meaning | Triton |
    |---|---|---|
    | `T.annotate_l2_hit_ratio({A: 0.5})` | a hint | nothing |
    """


def annotate_min_blocks_per_sm(min_blocks: Any) -> Any:
    """How many programs a multiprocessor holds, as far as registers go.

    | form | meaning | Triton |
    |---|---|---|
    | `T.annotate_min_blocks_per_sm(2)` | a hint | `maxnreg=…`, `waves_per_eu=…` |
    """


def annotate_compile_flags(flags: Any) -> Any:
    """Flags of the CUDA compiler; not applied, and reported.

    | form | meaning | Triton |
    |---|---|---|
    | `T.annotate_compile_flags(["-O3"])` | a hint | nothing |
    """


def annotate_pass_configs(configs: Any) -> Any:
    """Settings of TileLang's passes; those that forbid wgmma and TMA hold, others are reported.

    | form | meaning | Triton |
    |---|---|---|
    | `T.annotate_pass_configs({…})` | a hint | nothing, or pointers in the place of TMA |
    """


def pdl_sync() -> Any:
    """Wait for the launch before; left out, since Triton starts a launch when that is over.

    | form | meaning | Triton |
    |---|---|---|
    | `T.pdl_sync()` | the launch before is over | nothing, it is |
    """


def pdl_trigger() -> Any:
    """Let the next launch start early; left out, so that it starts when this one is over.

    | form | meaning | Triton |
    |---|---|---|
    | `T.pdl_trigger()` | a hint | nothing |
    """


def disable_warp_group_reg_alloc() -> Any:
    """Leave the registers as the compiler shares them out, which Triton does.

    | form | meaning | Triton |
    |---|---|---|
    | `T.disable_warp_group_reg_alloc()` | a hint | nothing |
    """


def no_set_max_nreg() -> Any:
    """Leave the registers as the compiler shares them out, which Triton does.

    | form | meaning | Triton |
    |---|---|---|
    | `T.no_set_max_nreg()` | a hint | nothing |
    """


def set_max_nreg(reg_count: Any, is_inc: Any = 1) -> Any:
    """How many registers a thread has from here on: of all threads, of the kernel.

    | form | meaning | Triton |
    |---|---|---|
    | `T.set_max_nreg(240, 1)` | a hint | `maxnreg=240`, of a role nothing |
    """


def inc_max_nreg(reg_count: Any) -> Any:
    """More registers from here on: of all threads, of the kernel.

    | form | meaning | Triton |
    |---|---|---|
    | `T.inc_max_nreg(240)` | a hint | `maxnreg=240`, of a role nothing |
    """


def dec_max_nreg(reg_count: Any) -> Any:
    """Fewer registers from here on: of all threads, of the kernel.

    | form | meaning | Triton |
    |---|---|---|
    | `T.dec_max_nreg(40)` | a hint | `maxnreg=40`, of a role nothing |
    """


def annotate_producer_reg_dealloc(reg_count: Any = 24) -> Any:
    """How many registers the loading warps keep; loads have no warps of their own here.

    | form | meaning | Triton |
    |---|---|---|
    | `T.annotate_producer_reg_dealloc(24)` | a hint | nothing |
    """


def annotate_consumer_reg_alloc(reg_count: Any = 240) -> Any:
    """How many registers the computing warps get, which they have.

    | form | meaning | Triton |
    |---|---|---|
    | `T.annotate_consumer_reg_alloc(240)` | a hint | nothing |
    """


def annotate_safe_value(safe_value_map: Any) -> Any:
    """What a read outside of a tensor gives instead of 0, to the end of the enclosing block.

    | form | meaning | Triton |
    |---|---|---|
    | `T.annotate_safe_value({A: -99})` | A gives -99 out of bounds | `tl.load(…, other=-99)` |
    """


def assume(cond: Any) -> Any:
    """A condition that the compiler may rely on.

    | form | meaning | Triton |
    |---|---|---|
    | `T.assume(n % 16 == 0)` | the reference checks it | `tl.assume(n % 16 == 0)` |
    """


def sync_threads(barrier_id: Any = None, arrive_count: Any = None) -> Any:
    """Wait for every thread of the program, so that what it wrote to a tensor can be read.

    | form | meaning | Triton |
    |---|---|---|
    | `T.sync_threads()` | a barrier | `tl.debug_barrier()` where a tensor is read back |
    """


def sync_grid() -> Any:
    """Wait for every program of the kernel, so that what they wrote to tensors can be read.

    It stands in the T.Kernel block itself. What follows is a launch of its own, so that tiles and
    variables have no values there.

    | form | meaning | Triton |
    |---|---|---|
    | `T.sync_grid()` | a barrier of all programs | a second kernel, launched behind the first |
    """


def check_swizzle(call: ast.Call, facts: Facts) -> Iterator[Problem]:
    """The panel is a positive number, the order one that exists."""
    arguments = USE_SWIZZLE.arguments(call)
    size = static_value(arguments["panel_size"], facts)
    if not isinstance(size, int) or size < 1:
        yield Problem(
            arguments["panel_size"],
            "T2T291",
            f"`panel_size={as_written(arguments['panel_size'])}` is no size of a panel",
            (),
            "write a positive number, such as T.use_swizzle(8)",
        )
    order = arguments["order"]
    if not (isinstance(order, ast.Constant) and order.value in ORDERS):
        yield Problem(
            order,
            "T2T292",
            f"`order={as_written(order)}` is no order of programs",
            (),
            f"write one of {', '.join(map(repr, ORDERS))}",
        )


def safe_values(call: ast.Call) -> dict[str, ast.expr]:
    """The tensors of T.annotate_safe_value and their values; empty if it is not a dict of names."""
    mapping = ANNOTATE_SAFE_VALUE.arguments(call)["safe_value_map"]
    if not isinstance(mapping, ast.Dict):
        return {}
    pairs = zip(mapping.keys, mapping.values, strict=True)
    return {key.id: value for key, value in pairs if isinstance(key, ast.Name)}


def check_safe_value(call: ast.Call, facts: Facts) -> Iterator[Problem]:
    """Every key is a global tensor."""
    mapping = ANNOTATE_SAFE_VALUE.arguments(call)["safe_value_map"]
    keys = mapping.keys if isinstance(mapping, ast.Dict) else [mapping]
    for key in keys:
        if not (isinstance(key, ast.Name) and key.id in facts.tensors):
            yield Problem(
                key or call,
                "T2T293",
                "T.annotate_safe_value takes global tensors and the values that reads outside of "
                f"them give, but `{as_written(key or mapping)}` is no global tensor",
                (),
                "write a dict, such as T.annotate_safe_value({A: -1})",
            )


def lower_safe_value(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> None:
    """Loads from here on fill with these values; the enclosing block ends their reach."""
    for tensor, tree in safe_values(node).items():
        value = cast(space.value(tree), space.facts.tensors[tensor].dtype)
        space.lowering.safe_values[tensor] = value.tree


def lower_assumption(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> None:
    condition = as_condition(space.value(arguments["cond"]))
    if not condition.weak:
        space.lowering.emit("tl.assume(condition)", condition=condition.tree)


def lower_barrier(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> None:
    """Tiles are values and need no barrier; what a program wrote to a tensor does, to be read."""
    space.lowering.emit("tl.debug_barrier()")


def check_assumption(cond: Any) -> None:
    assert bool(np.all(value_of(cond))), "the condition does not hold"


def no_effect(*arguments: Any, **options: Any) -> None:
    """The reference meaning of what changes no result."""


def set_safe_values(safe_value_map: dict[Any, Any]) -> None:
    for operand, value in safe_value_map.items():
        operand.set_safe_value(value)


USE_SWIZZLE = Operator(surface=use_swizzle, kind="hint", check=check_swizzle, reference=no_effect)
ANNOTATE_SAFE_VALUE = Operator(
    surface=annotate_safe_value,
    lower=lower_safe_value,
    kind="statement",
    check=check_safe_value,
    reference=set_safe_values,
)
ASSUME = Operator(
    surface=assume, lower=lower_assumption, kind="statement", reference=check_assumption
)
SYNC_THREADS = Operator(
    surface=sync_threads, lower=lower_barrier, kind="statement", reference=no_effect
)
SYNC_GRID = Operator(surface=sync_grid, kind="statement", reference=no_effect)
# What programs and threads are to have: the number is checked.
_NUMBERS = (
    (annotate_min_blocks_per_sm, "programs", PROGRAMS, 2),
    (set_max_nreg, "registers", REGISTERS, 240),
    (inc_max_nreg, "registers", REGISTERS, 240),
    (dec_max_nreg, "registers", REGISTERS, 24),
    (annotate_producer_reg_dealloc, "registers", REGISTERS, 24),
    (annotate_consumer_reg_alloc, "registers", REGISTERS, 240),
)
COUNTED = tuple(
    Operator(
        surface=surface,
        kind="hint",
        check=checked_number(what, limits, f"T.{surface.__name__}({example})"),
        reference=no_effect,
    )
    for surface, what, limits, example in _NUMBERS
)
ERASED = tuple(
    Operator(surface=surface, kind="hint", reference=no_effect)
    for surface in (
        annotate_layout,
        annotate_restrict_buffers,
        annotate_l2_hit_ratio,
        annotate_compile_flags,
        annotate_pass_configs,
        pdl_sync,
        pdl_trigger,
        disable_warp_group_reg_alloc,
        no_set_max_nreg,
    )
)

OPERATORS = (USE_SWIZZLE, ANNOTATE_SAFE_VALUE, ASSUME, SYNC_THREADS, SYNC_GRID, *COUNTED, *ERASED)
