"""Copies and products that run beside the program: here they are complete where they stand."""

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rewrites.errors import Problem
from rewrites.facts import Facts
from tile2triton.ops import gemm, gemm_rules
from tile2triton.ops.barriers import barrier_problems, no_effect
from tile2triton.ops.base import Operator
from tile2triton.ops.regions import copy_problems

if TYPE_CHECKING:
    from tile2triton.reference.operands import Operand


def async_copy(
    src: Any,
    dst: Any,
    *,
    coalesced_width: Any = None,
    annotations: Any = None,
    loop_layout: Any = None,
) -> Any:
    """`T.copy` that need not be complete before `T.ptx_wait_group`.

    | form | meaning | Triton |
    |---|---|---|
    | `T.async_copy(A[i, k], s)` | `T.copy(A[i, k], s)` | `s = tl.load(…)` |
    """


def tma_copy(
    src: Any,
    dst: Any,
    *,
    barrier: Any = None,
    cluster_mask: Any = None,
    leader_scope_threads: Any = None,
    eviction_policy: Any = None,
    annotations: Any = None,
) -> Any:
    """`T.copy` that need not be complete before a wait for its barrier.

    | form | meaning | Triton |
    |---|---|---|
    | `T.tma_copy(A[i, k], s, barrier=b)` | `T.copy(A[i, k], s)` | `s = tl.load(…)` |
    | `T.tma_copy(s, C[i, j])` | `T.copy(s, C[i, j])` | `tl.store(…, s)` |
    """


def wgmma_gemm(
    A: Any,
    B: Any,
    C: Any,
    transpose_A: bool = False,
    transpose_B: bool = False,
    policy: Any = "Square",
    clear_accum: Any = False,
    annotations: Any = None,
) -> Any:
    """`T.gemm` that need not be complete before `T.wait_wgmma`.

    | form | meaning | Triton |
    |---|---|---|
    | `T.wgmma_gemm(a, b, c)` | `T.gemm(a, b, c)` | `c = tl.dot(a, b, c)` |
    """


def tcgen05_gemm(
    A: Any,
    B: Any,
    C: Any,
    transpose_A: bool = False,
    transpose_B: bool = False,
    policy: Any = "Square",
    clear_accum: Any = False,
    *,
    mbar: Any = None,
    use_2cta: bool = False,
    annotations: Any = None,
) -> Any:
    """`T.gemm` that arrives at `mbar` when it is complete.

    | form | meaning | Triton |
    |---|---|---|
    | `T.tcgen05_gemm(a, b, c, mbar=b)` | `T.gemm(a, b, c)` | `c = tl.dot(a, b, c)` |
    """


def ptx_commit_group() -> Any:
    """Close a group of asynchronous copies.

    | form | meaning | Triton |
    |---|---|---|
    | `T.ptx_commit_group()` | nothing | nothing |
    """


def ptx_wait_group(count: Any) -> Any:
    """Wait until all but so many groups of asynchronous copies are complete.

    | form | meaning | Triton |
    |---|---|---|
    | `T.ptx_wait_group(0)` | nothing: copies are complete where they stand | nothing |
    """


def fence_proxy_async() -> Any:
    """Let asynchronous copies see what threads wrote.

    | form | meaning | Triton |
    |---|---|---|
    | `T.fence_proxy_async()` | nothing | nothing |
    """


def tma_store_arrive() -> Any:
    """Close a group of stores of `T.tma_copy`.

    | form | meaning | Triton |
    |---|---|---|
    | `T.tma_store_arrive()` | nothing | nothing |
    """


def tma_store_wait(count: Any = 0, read: Any = True) -> Any:
    """Wait for stores of `T.tma_copy`.

    | form | meaning | Triton |
    |---|---|---|
    | `T.tma_store_wait()` | nothing: stores are complete where they stand | nothing |
    """


def wait_wgmma(id: Any) -> Any:
    """Wait until all but so many groups of products are complete.

    | form | meaning | Triton |
    |---|---|---|
    | `T.wait_wgmma(0)` | nothing: products are complete where they stand | nothing |
    """


def warpgroup_arrive() -> Any:
    """Order registers before products of `T.wgmma_gemm`.

    | form | meaning | Triton |
    |---|---|---|
    | `T.warpgroup_arrive()` | nothing | nothing |
    """


def warpgroup_commit_batch() -> Any:
    """Close a group of products of `T.wgmma_gemm`.

    | form | meaning | Triton |
    |---|---|---|
    | `T.warpgroup_commit_batch()` | nothing | nothing |
    """


def warpgroup_wait(num_mma: Any) -> Any:
    """Wait until all but so many groups of products are complete.

    | form | meaning | Triton |
    |---|---|---|
    | `T.warpgroup_wait(0)` | nothing: products are complete where they stand | nothing |
    """


def warpgroup_fence_operand(
    buffer_or_ptr: Any, offset: Any = 0, num_regs: Any = None, dtype: Any = None
) -> Any:
    """Keep registers of a product in place.

    | form | meaning | Triton |
    |---|---|---|
    | `T.warpgroup_fence_operand(c)` | nothing | nothing |
    """


def tcgen05_before_thread_sync() -> Any:
    """Order tensor memory before a barrier.

    | form | meaning | Triton |
    |---|---|---|
    | `T.tcgen05_before_thread_sync()` | nothing | nothing |
    """


def tcgen05_after_thread_sync() -> Any:
    """Order tensor memory behind a barrier.

    | form | meaning | Triton |
    |---|---|---|
    | `T.tcgen05_after_thread_sync()` | nothing | nothing |
    """


def deallocate_tmem(tmem: Any) -> Any:
    """Give tensor memory back.

    | form | meaning | Triton |
    |---|---|---|
    | `T.deallocate_tmem(c)` | nothing | nothing |
    """


def check_copy(call: ast.Call, facts: Facts) -> Iterator[Problem]:
    """Both sides are regions whose shapes match."""
    assert isinstance(call.func, ast.Attribute)
    operator = facts.operators[call.func.attr]
    arguments = operator.arguments(call)
    what = f"T.{call.func.attr}"
    yield from copy_problems(call, arguments["src"], arguments["dst"], facts, what)
    barrier = arguments.get("barrier")
    if barrier is not None and _is_given(barrier):
        yield from barrier_problems(barrier, what, facts)
    for option, why in (
        ("cluster_mask", "copies into several programs' shared memory"),
        ("leader_scope_threads", "makes one copy for each group of threads"),
    ):
        tree = arguments.get(option)
        if tree is not None and _is_given(tree):
            yield Problem(
                tree,
                "T2T707",
                f"`{option}` of {what} {why}, which no program of Triton can",
                (),
                f"leave `{option}` out, and copy with T.copy in each program",
            )


def check_gemm(call: ast.Call, facts: Facts) -> Iterator[Problem]:
    """What T.gemm asks for, and no second program to multiply with."""
    assert isinstance(call.func, ast.Attribute)
    arguments = facts.operators[call.func.attr].arguments(call)
    yield from gemm_rules.check(as_gemm(call), facts)
    what = f"T.{call.func.attr}"
    barrier = arguments.get("mbar")
    if barrier is not None and _is_given(barrier):
        yield from barrier_problems(barrier, what, facts)
    pair = arguments.get("use_2cta")
    if isinstance(pair, ast.Constant) and pair.value:
        yield Problem(
            pair,
            "T2T707",
            f"`use_2cta` of {what} multiplies with the tiles of two programs, and programs of "
            "Triton share no memory on the chip",
            (),
            "leave `use_2cta` out, and let each program load both of its operands",
        )


def as_gemm(call: ast.Call) -> ast.Call:
    """The product as T.gemm."""
    assert isinstance(call.func, ast.Attribute)
    function = ast.Attribute(call.func.value, "gemm", ast.Load())
    kept = [k for k in call.keywords if k.arg not in ("mbar", "use_2cta")]
    made = ast.Call(ast.copy_location(function, call.func), call.args, kept)
    if hasattr(call, "filename"):
        made.filename = call.filename  # type: ignore[attr-defined]
    return ast.copy_location(made, call)


def _is_given(tree: ast.expr) -> bool:
    return not (isinstance(tree, ast.Constant) and tree.value is None)


def copy_reference(src: "Operand", dst: "Operand", **hints: Any) -> None:
    src.copy_to(dst)


COPIES = tuple(
    Operator(
        surface=surface, kind="statement", writes="dst", check=check_copy, reference=copy_reference
    )
    for surface in (async_copy, tma_copy)
)
PRODUCTS = tuple(
    Operator(
        surface=surface,
        kind="statement",
        writes="C",
        keeps=gemm.GEMM.keeps,
        check=check_gemm,
        reference=gemm.GEMM.reference,
    )
    for surface in (wgmma_gemm, tcgen05_gemm)
)
FENCES = tuple(
    Operator(surface=surface, kind="protocol", reference=no_effect)
    for surface in (
        ptx_commit_group,
        ptx_wait_group,
        fence_proxy_async,
        tma_store_arrive,
        tma_store_wait,
        wait_wgmma,
        warpgroup_arrive,
        warpgroup_commit_batch,
        warpgroup_wait,
        warpgroup_fence_operand,
        tcgen05_before_thread_sync,
        tcgen05_after_thread_sync,
        deallocate_tmem,
    )
)
OPERATORS = (*COPIES, *PRODUCTS, *FENCES)
