"""Barriers in shared memory, by which the threads of one program wait for each other."""

import ast
from collections.abc import Callable, Iterator
from typing import Any

from rewrites.errors import Problem
from rewrites.facts import Facts
from rewrites.tree import base_name
from tile2triton.ops.base import Operator
from tile2triton.ops.regions import as_written


def alloc_barrier(arrive_count: Any) -> Any:
    """Barriers, each of which completes a phase when this many threads have arrived at it.

    A program in Triton has no threads that could wait for each other: its statements run in the
    order in which they stand. Barriers are left out where that order satisfies every wait, and an
    error says which wait it does not satisfy.

    | form | meaning | Triton |
    |---|---|---|
    | `b = T.alloc_barrier(128)` | one barrier | nothing |
    | `b = T.alloc_barrier([128] * 4)` | four: `b[0]` … `b[3]` | nothing |
    """


def mbarrier_wait_parity(mbarrier: Any, parity: Any) -> Any:
    """Wait until the phase of this parity is complete; phases count from 0.

    Before the first phase is complete, a wait for parity 1 passes and one for parity 0 waits.

    | form | meaning | Triton |
    |---|---|---|
    | `T.mbarrier_wait_parity(b, k % 2)` | wait for phase k | nothing |
    """


def barrier_wait(mbarrier: Any, parity: Any) -> Any:
    """`T.mbarrier_wait_parity`.

    | form | meaning | Triton |
    |---|---|---|
    | `T.barrier_wait(b, k % 2)` | wait for phase k | nothing |
    """


def barrier_arrive(mbarrier: Any) -> Any:
    """`T.mbarrier_arrive`.

    | form | meaning | Triton |
    |---|---|---|
    | `T.barrier_arrive(b)` | the threads arrive | nothing |
    """


def mbarrier_arrive(mbarrier: Any, cta_id: Any = None) -> Any:
    """Each thread that comes here arrives at the barrier.

    | form | meaning | Triton |
    |---|---|---|
    | `T.mbarrier_arrive(b[k % 2])` | the threads arrive | nothing |
    """


def mbarrier_expect_tx(mbarrier: Any, tx: Any) -> Any:
    """The phase also waits for so many bytes; copies here are complete where they stand.

    | form | meaning | Triton |
    |---|---|---|
    | `T.mbarrier_expect_tx(b, 4096)` | bytes to wait for | nothing |
    """


def mbarrier_arrive_expect_tx(mbarrier: Any, tx: Any) -> Any:
    """Arrive, and make the phase wait for so many bytes as well.

    | form | meaning | Triton |
    |---|---|---|
    | `T.mbarrier_arrive_expect_tx(b, 4096)` | the threads arrive | nothing |
    """


def cp_async_barrier_noinc(barrier: Any) -> Any:
    """Each thread arrives when its asynchronous copies are complete, which they are here.

    | form | meaning | Triton |
    |---|---|---|
    | `T.cp_async_barrier_noinc(b)` | the threads arrive | nothing |
    """


def tcgen05_mma_arrive(mbar: Any, arrive_2cta: bool = False) -> Any:
    """One arrival when the products issued so far are complete, which they are here.

    | form | meaning | Triton |
    |---|---|---|
    | `T.tcgen05_mma_arrive(b)` | one arrival | nothing |
    """


def operand_check(parameter: str) -> Callable[[ast.Call, Facts], Iterator[Problem]]:
    """The check that an operator's operand is one barrier."""

    def check(call: ast.Call, facts: Facts) -> Iterator[Problem]:
        assert isinstance(call.func, ast.Attribute)
        operator = facts.operators[call.func.attr]
        operand = operator.arguments(call)[parameter]
        yield from barrier_problems(operand, f"T.{call.func.attr}", facts)

    return check


def barrier_problems(operand: ast.expr, what: str, facts: Facts) -> Iterator[Problem]:
    """A problem where the operand does not name one barrier."""
    counts = facts.barriers.get(base_name(operand) or "")
    if counts is None:
        yield Problem(
            operand,
            "T2T700",
            f"{what} takes a barrier from T.alloc_barrier, but `{as_written(operand)}` is none",
            (),
            "allocate it: barrier = T.alloc_barrier(128)",
        )
    elif isinstance(operand, ast.Name) and len(counts) > 1:
        yield Problem(
            operand,
            "T2T700",
            f"`{operand.id}` is {len(counts)} barriers, but {what} takes one",
            (),
            f"pick one with an index, such as `{operand.id}[0]`",
        )


def no_effect(*operands: Any, **options: Any) -> None:
    """The reference meaning of what orders threads: its interpreter counts arrivals itself."""


ALLOC_BARRIER = Operator(
    surface=alloc_barrier, kind="allocation", aliases=("alloc_cluster_barrier",)
)
OPERATORS = (
    ALLOC_BARRIER,
    *(
        Operator(
            surface=surface, kind="protocol", check=operand_check(operand), reference=no_effect
        )
        for operand, surface in (
            ("mbarrier", mbarrier_wait_parity),
            ("mbarrier", barrier_wait),
            ("mbarrier", mbarrier_arrive),
            ("mbarrier", barrier_arrive),
            ("mbarrier", mbarrier_expect_tx),
            ("mbarrier", mbarrier_arrive_expect_tx),
            ("barrier", cp_async_barrier_noinc),
            ("mbar", tcgen05_mma_arrive),
        )
    ),
)
