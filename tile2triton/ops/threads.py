"""The threads of one program: who runs a block, and which thread this is."""

import ast
from collections.abc import Iterator
from typing import Any

from rewrites.errors import Problem
from rewrites.facts import Facts
from tile2triton.ops.barriers import no_effect
from tile2triton.ops.base import Operator
from tile2triton.ops.regions import as_written, static_value


def ws(*warp_group_ids: Any) -> Any:
    """The body runs on these groups of 128 threads only.

    In Triton all of the program does what one group would do. The groups' blocks run in the order
    in which they stand, which is one of the orders that their barriers allow; loops that take turns
    are made one. What a group keeps in its registers stays its own.

    | form | meaning | Triton |
    |---|---|---|
    | `with T.ws(1): …` | threads 128 … 255 | the body |
    """


def get_thread_binding(dim: int = 0) -> Any:
    """The number of this thread in the program.

    In a condition that picks whole blocks of code (`if tx == 0:`, `if tx < 128: … else: …`), the
    condition is dropped and the blocks run one after the other. As an index, each thread becomes a
    lane of `T.Parallel(threads)`.

    | form | meaning | Triton |
    |---|---|---|
    | `if tx == 0: C[0] = x` | one thread stores | `tl.store(C, x)` |
    | `C[bx * 128 + tx] = x` | every thread stores one element | `tl.arange(0, 128)` for `tx` |
    """


def get_lane_idx(warp_size: Any = None) -> Any:
    """The number of this thread in its warp.

    | form | meaning | Triton |
    |---|---|---|
    | `C[tx] = T.get_lane_idx()` | `tx % 32`; on AMD `tx % 64` | a value of each lane |
    """


def get_warp_idx(warp_size: Any = None) -> Any:
    """The number of this thread's warp.

    | form | meaning | Triton |
    |---|---|---|
    | `C[tx] = T.get_warp_idx()` | `tx // 32`; on AMD `tx // 64` | a value of each lane |
    """


def get_warp_group_idx(warp_size: Any = None, warps_per_group: Any = None) -> Any:
    """The number of this thread's group of warps, of four if not said otherwise.

    | form | meaning | Triton |
    |---|---|---|
    | `C[tx] = T.get_warp_group_idx()` | `tx // 128`; on AMD `tx // 256` | a value of each lane |
    """


def shuffle_elect(thread_extent: Any) -> Any:
    """Whether this thread is the first of its group of so many; 0 is all of the program.

    | form | meaning | Triton |
    |---|---|---|
    | `if T.shuffle_elect(128): …` | `if tx % 128 == 0: …` | the body |
    """


def sync_warp(mask: Any = None) -> Any:
    """Wait for the threads of a warp; a program of Triton runs statement by statement.

    | form | meaning | Triton |
    |---|---|---|
    | `T.sync_warp()` | nothing | nothing |
    """


def check_groups(call: ast.Call, facts: Facts) -> Iterator[Problem]:
    """Groups of threads are numbered by constants."""
    for group in call.args:
        number = static_value(group, facts)
        if not isinstance(number, int) or isinstance(number, bool) or number < 0:
            yield Problem(
                group,
                "T2T701",
                f"`{as_written(group)}` is no number of a group of threads",
                (),
                "write constants, such as `with T.ws(0):`",
            )
    if not call.args:
        yield Problem(
            call,
            "T2T701",
            "T.ws names no group of threads",
            (),
            "write their numbers, such as `with T.ws(0):`",
        )


WS = Operator(surface=ws, kind="scope", check=check_groups, aliases=("WarpSpecialize",))
OPERATORS = (
    WS,
    Operator(surface=get_thread_binding, kind="thread"),
    Operator(surface=get_lane_idx, kind="thread"),
    Operator(surface=get_warp_idx, kind="thread", aliases=("get_warp_idx_sync",)),
    Operator(surface=get_warp_group_idx, kind="thread"),
    Operator(surface=shuffle_elect, kind="thread"),
    Operator(surface=sync_warp, kind="protocol", reference=no_effect),
)
