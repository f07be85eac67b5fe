"""T.warp_reduce_sum and its kind: values of the threads of a warp combined, for each of them."""

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from rewrites.combinations import (
    BIT_AND,
    BIT_OR,
    MAX,
    MIN,
    SUM,
    Combination,
    identity,
    reduced,
)
from rewrites.dtypes import is_float
from rewrites.errors import refuse
from rewrites.quote import expr
from rewrites.space import Space
from rewrites.stores import filled
from rewrites.threads import warp_size
from rewrites.values import Value, strong
from tile2triton.ops.base import Operator
from tile2triton.reference.errors import UnsupportedError
from tile2triton.reference.memory import COMBINE
from tile2triton.reference.named import value_of
from tile2triton.reference.values import Value as Number
from tile2triton.reference.values import cast, dtype_of, typed

if TYPE_CHECKING:
    from tile2triton.reference.state import State


def warp_reduce_sum(value: Any) -> Any:
    """The sum of a value over the threads of this one's warp, in each of them.

    A warp has 32 threads, on AMD 64. All threads of the program take part: it may not stand in a
    branch that some of them take.

    | form | meaning | Triton |
    |---|---|---|
    | `y = T.warp_reduce_sum(x[tx])` | the sum of 32 x | `tl.sum(tl.reshape(x, (4, 32)), axis=1)` |
    """


def warp_reduce_max(value: Any) -> Any:
    """The largest of the values of a warp's threads. Rules as for `warp_reduce_sum`.

    | form | meaning | Triton |
    |---|---|---|
    | `y = T.warp_reduce_max(x[tx])` | the largest of 32 x | `tl.max(…, axis=1)` |
    """


def warp_reduce_min(value: Any) -> Any:
    """The smallest of the values of a warp's threads. Rules as for `warp_reduce_sum`.

    | form | meaning | Triton |
    |---|---|---|
    | `y = T.warp_reduce_min(x[tx])` | the smallest of 32 x | `tl.min(…, axis=1)` |
    """


def warp_reduce_bitand(value: Any) -> Any:
    """The bits that the values of all of a warp's threads have. Rules as for `warp_reduce_sum`.

    | form | meaning | Triton |
    |---|---|---|
    | `y = T.warp_reduce_bitand(x[tx])` | the bits that 32 x share | `~tl.reduce_or(~x, axis=1)` |
    """


def warp_reduce_bitor(value: Any) -> Any:
    """The bits that some value of a warp's threads has. Rules as for `warp_reduce_sum`.

    | form | meaning | Triton |
    |---|---|---|
    | `y = T.warp_reduce_bitor(x[tx])` | the bits of 32 x | `tl.reduce_or(x, axis=1)` |
    """


def lowering(combination: Combination) -> Callable[..., Value]:
    """The lanes as rows of one warp each, which are combined and handed back to their lanes."""

    def lower(space: Space, arguments: dict[str, ast.expr], node: ast.Call) -> Value:
        value = strong(space.value(arguments["value"]))
        dtype, lanes = value.dtype, warp_size(space.facts)
        _refuse(space, dtype, combination, lanes, node)
        (axis,) = space.axes
        tree = filled(space, value, dtype)
        warps = axis.length // lanes
        if warps == 1:
            # What is the same in all lanes is one number.
            total = reduced(combination, tree, dtype, 0)
            return Value(space.lowering.assign("total", total.tree), dtype)
        rows = expr(f"tl.reshape(x, ({warps}, {lanes}))", x=tree)
        total = reduced(combination, rows, dtype, 1, frozenset({0}))
        named = space.lowering.assign("total", total.tree)
        spread = expr(f"tl.broadcast_to(total[:, None], ({warps}, {lanes}))", total=named)
        shape = ast.Tuple(list(space.shape()), ast.Load())
        back = expr("tl.reshape(spread, shape)", spread=spread, shape=shape)
        return Value(back, dtype, frozenset({0}))

    return lower


def _refuse(space: Space, dtype: str, combination: Combination, lanes: int, node: ast.Call) -> None:
    shown = f"`{ast.unparse(node)}`"
    if space.rank != 1 or space.conditions:
        raise refuse(
            node,
            "T2T626",
            f"{shown} combines the values of all threads of a warp, but not all of them come here",
            (),
            "compute it in front of the branch or loop",
        )
    if space.axes[0].extent % lanes:
        raise refuse(
            node,
            "T2T626",
            f"{shown} combines {lanes} threads, but the last warp has fewer",
            (f"the program has {space.axes[0].extent} threads",),
            f"give T.Kernel a multiple of {lanes} as threads",
        )
    if combination in (BIT_AND, BIT_OR) and is_float(dtype):
        raise refuse(
            node,
            "T2T612",
            f"{shown} combines bits, but its values are {dtype}",
            (),
            "cast them to an integer type, or use T.reinterpret",
        )


def reference_of(combination: Combination) -> Callable[..., Number]:
    def reference(state: "State", value: Any) -> Number:
        given = typed(value_of(value))
        dtype, lanes = dtype_of(given), warp_size(state.facts)
        if len(state.space) != 1 or state.mask is not None or state.space[0] % lanes:
            node = ast.Constant(None)
            raise UnsupportedError(node, "Not all threads of a warp combine their values here.")
        rows = np.broadcast_to(given, state.space).reshape(-1, lanes)
        total = np.full(len(rows), identity(combination, dtype), rows.dtype)
        for lane in range(lanes):
            total = COMBINE[combination.name](total, rows[:, lane])
        return cast(np.repeat(total, lanes), dtype)

    return reference


def _operator(surface: Callable[..., Any], combination: Combination) -> Operator:
    return Operator(
        surface=surface,
        lower=lowering(combination),
        kind="expression",
        reference=reference_of(combination),
        takes_state=True,
    )


OPERATORS = (
    _operator(warp_reduce_sum, SUM),
    _operator(warp_reduce_max, MAX),
    _operator(warp_reduce_min, MIN),
    _operator(warp_reduce_bitand, BIT_AND),
    _operator(warp_reduce_bitor, BIT_OR),
)
