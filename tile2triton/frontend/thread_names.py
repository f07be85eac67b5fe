"""What a kernel asks about its launch: numbers of threads and blocks, and how many there are."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from tile2triton.frontend.builder import require
from tile2triton.frontend.dynamic import Dynamic
from tile2triton.frontend.failures import failure
from tile2triton.frontend.loops import KernelFrame
from tile2triton.frontend.operators import call
from tile2triton.frontend.statics import note_value, plain


def get_thread_binding(dim: int = 0) -> Any:
    """The number of this thread in one dimension of the block of threads, x first."""
    threads = (*_frame("T.get_thread_binding").thread_extents, 1, 1)
    for extent in threads:
        note_value(extent)
    before = math.prod(map(plain, threads[: _dimension(dim)]))
    number = call("get_thread_binding", (), {})
    if before > 1:
        number = number // before
    is_last = all(extent == 1 for extent in threads[dim + 1 :])
    return number if is_last else number % plain(threads[dim])


def get_thread_bindings() -> list[Any]:
    """The numbers of this thread in the three dimensions of the block of threads."""
    return [get_thread_binding(dim) for dim in range(3)]


def get_thread_extent(dim: int = 0) -> int:
    """How many threads a block has in one dimension."""
    return int((*_frame("T.get_thread_extent").thread_extents, 1, 1)[_dimension(dim)])


def get_thread_extents() -> list[int]:
    """How many threads a block has in each of the three dimensions."""
    return [get_thread_extent(dim) for dim in range(3)]


def get_block_binding(dim: int = 0) -> Any:
    """The number of this program in one dimension of the grid, x first."""
    return (*_frame("T.get_block_binding").block_numbers, 0, 0)[_dimension(dim)]


def get_block_bindings() -> list[Any]:
    """The numbers of this program in the three dimensions of the grid."""
    return [get_block_binding(dim) for dim in range(3)]


def get_block_extent(dim: int = 0) -> Any:
    """How many programs the grid has in one dimension."""
    return (*_frame("T.get_block_extent").extents, 1, 1)[_dimension(dim)]


def get_block_extents() -> list[Any]:
    """How many programs the grid has in each of the three dimensions."""
    return [get_block_extent(dim) for dim in range(3)]


class ThreadNumber(Dynamic):
    """The number of this thread, also as what a `for` runs over: its body is each thread's."""

    def __iter__(self) -> Iterator[Any]:
        yield Dynamic(self.tree, "int32")


def thread_binding(
    start: Any, stop: Any = None, thread: str = "threadIdx.x", *, annotations: Any = None
) -> Any:
    """The number of this thread; a `for` over it has its body run once by each thread.

    `T.thread_binding(0, n, "threadIdx.x")`: n is the number of threads of the kernel.
    """
    if isinstance(stop, str):
        stop, thread = None, stop
    first, count = (0, start) if stop is None else (start, stop)
    dim = _thread_dimension(thread, "T.thread_binding")
    extent = get_thread_extent(dim)
    if plain(first) != 0 or plain(count) != extent:
        raise failure(
            "T2T703",
            f"the threads {first} … {count} - 1 are not those of the kernel",
            found=(f"the kernel has {extent} threads in `{thread}`",),
            hint=f"write T.thread_binding(0, {extent}, {thread!r}), with an `if` inside",
        )
    number = get_thread_binding(dim)
    return ThreadNumber(number.tree, "int32")


def launch_thread(thread: str, extent: Any) -> Any:
    """The number of this thread; `extent` is the number of threads of the kernel."""
    return thread_binding(0, extent, thread)


def _thread_dimension(thread: str, what: str) -> int:
    names = ("threadIdx.x", "threadIdx.y", "threadIdx.z")
    if thread not in names:
        raise failure(
            "T2T703",
            f"{what} binds `{thread}`, which is no dimension of the block of threads",
            hint=f"write one of {', '.join(names)}; the grid is that of T.Kernel",
        )
    return names.index(thread)


def _dimension(dim: Any) -> int:
    if plain(dim) not in (0, 1, 2):
        raise failure("T2T703", f"`{dim}` is no dimension", hint="write 0, 1 or 2")
    return int(dim)


def _frame(what: str) -> KernelFrame:
    """The T.Kernel that is open."""
    builder = require(what)
    if builder.kernel is None:
        raise failure(
            "T2T173",
            f"{what} stands outside of `with T.Kernel`",
            hint="move it into the body of T.Kernel",
        )
    return builder.kernel
