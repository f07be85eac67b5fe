"""T.Kernel: the grid of programs, and how many threads each has."""

import ast
from collections.abc import Iterator
from typing import Any

from rewrites.errors import Problem
from rewrites.facts import Facts
from tile2triton.ops.base import Operator
from tile2triton.ops.regions import as_written, static_value


def Kernel(*blocks: Any, threads: Any = None, prelude: Any = None) -> Any:
    """The body of the `with` runs once for each point of the grid, in no order.

    One to three extents, which may depend on sizes known at the launch. `threads` is a hint.

    | form | meaning | Triton |
    |---|---|---|
    | `with T.Kernel(n, threads=128) as bx:` | a grid of n programs | `bx = tl.program_id(0)` |
    | `with T.Kernel(n, m) as (bx, by):` | a grid of n x m programs | `tl.program_id(0)`, `(1)` |
    """


def check(call: ast.Call, facts: Facts) -> Iterator[Problem]:
    """One to three extents; the number of threads is positive."""
    arguments = KERNEL.arguments(call)
    blocks = arguments["blocks"]
    assert isinstance(blocks, ast.Tuple)
    if not 1 <= len(blocks.elts) <= 3:
        yield Problem(
            call,
            "T2T260",
            "a grid has one, two or three dimensions",
            (f"T.Kernel with {len(blocks.elts)} extents",),
            "put further dimensions into one extent, and take them apart with // and %",
        )
    threads = arguments["threads"]
    count = static_value(threads, facts)
    given = not (isinstance(threads, ast.Constant) and threads.value is None)
    if given and (not isinstance(count, int) or not 1 <= count <= 1024):
        yield Problem(
            threads,
            "T2T261",
            f"`threads={as_written(threads)}` is no number of threads",
            (),
            "write a number from 1 to 1024, such as threads=128",
        )


KERNEL = Operator(surface=Kernel, kind="kernel", check=check)

OPERATORS = (KERNEL,)
