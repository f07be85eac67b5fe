"""T.serial, T.Pipelined, T.unroll, T.Parallel: the loops."""

import ast
from collections.abc import Iterator
from typing import Any

from rewrites.errors import Problem
from rewrites.facts import Facts
from tile2triton.ops.base import Operator
from tile2triton.ops.regions import as_written, static_value


def serial(start: Any, stop: Any = None, step: Any = None, *, annotations: Any = None) -> Any:
    """A loop, one iteration after the other. Python's `range` means the same.

    | form | meaning | Triton |
    |---|---|---|
    | `for i in T.serial(n):` | i = 0 … n - 1 | `for i in range(n):` |
    | `for i in T.serial(a, b, 2):` | i = a, a + 2, … below b | `for i in range(a, b, 2):` |
    | `for i in T.vectorized(4):` | i = 0 … 3 | `for i in range(4):` |
    """


def Pipelined(
    start: Any,
    stop: Any = None,
    num_stages: int = 0,
    order: Any = None,
    stage: Any = None,
    sync: Any = None,
    group: Any = None,
    *,
    annotations: Any = None,
) -> Any:
    """A loop whose copies may run ahead of it; the result is that of `T.serial`.

    `order`, `stage`, `sync` and `group` are hints.

    | form | meaning | Triton |
    |---|---|---|
    | `for k in T.Pipelined(n, num_stages=3):` | 3 ahead | `for k in tl.range(n, num_stages=3):` |
    | `for k in T.Pipelined(a, b):` | k = a … b - 1 | `for k in range(a, b):` |
    """


def unroll(
    start: Any,
    stop: Any = None,
    step: Any = None,
    *,
    explicit: bool = False,
    unroll_factor: Any = None,
    annotations: Any = None,
) -> Any:
    """A loop that is written out; the result is that of `T.serial`.

    | form | meaning | Triton |
    |---|---|---|
    | `for i in T.unroll(4):` | i = 0 … 3 | `for i in tl.static_range(4):` |
    """


def Parallel(
    *extents: Any,
    coalesced_width: Any = None,
    loop_layout: Any = None,
    prefer_async: Any = None,
    annotations: Any = None,
) -> Any:
    """All iterations at once: the statements inside act on whole tiles, element by element.

    An extent that is known at run time only is run through in blocks of as many elements as the
    program has threads. The keywords are hints.

    | form | meaning | Triton |
    |---|---|---|
    | `for i, j in T.Parallel(64, 32): c[i, j] = b[j]` | all i, j | `c = b[None, :]` |
    """


def check_range(call: ast.Call, facts: Facts) -> Iterator[Problem]:
    """The step is known and not zero."""
    operator = RANGES[ast.unparse(call.func).rpartition(".")[2]]
    step = operator.arguments(call)["step"]
    size = static_value(step, facts)
    given = not (isinstance(step, ast.Constant) and step.value is None)
    if given and (not isinstance(size, int) or size == 0):
        yield Problem(
            step,
            "T2T252",
            f"the step of a loop is a number other than 0 that is known when the kernel is "
            f"compiled, but `{as_written(step)}` is not",
            (),
            "loop over a count, and multiply the loop variable inside",
        )


def check_pipelined(call: ast.Call, facts: Facts) -> Iterator[Problem]:
    """The number of stages is known and not negative."""
    stages = PIPELINED.arguments(call)["num_stages"]
    count = static_value(stages, facts)
    if not isinstance(count, int) or count < 0:
        yield Problem(
            stages,
            "T2T251",
            f"`num_stages={as_written(stages)}` is no number of stages",
            (),
            "write 0 for a plain loop, or how many iterations' copies are in flight",
        )


def check_parallel(call: ast.Call, facts: Facts) -> Iterator[Problem]:
    """Every extent is known and positive."""
    extents = PARALLEL.arguments(call)["extents"]
    assert isinstance(extents, ast.Tuple)
    if not extents.elts:
        yield Problem(call, "T2T253", "T.Parallel needs at least one extent")
    for extent in extents.elts:
        size = static_value(extent, facts)
        if not isinstance(size, int) or size < 1:
            yield Problem(
                extent,
                "T2T250",
                f"the extents of T.Parallel are positive numbers that are known when the kernel "
                f"is compiled, but `{as_written(extent)}` is not",
                (),
                "loop over the tile's extent, and put the rest under an `if` inside",
            )


SERIAL = Operator(
    surface=serial, kind="loop", check=check_range, aliases=("Serial", "vectorized", "Vectorized")
)
PIPELINED = Operator(surface=Pipelined, kind="loop", check=check_pipelined)
UNROLL = Operator(surface=unroll, kind="loop", check=check_range, aliases=("Unroll",))
PARALLEL = Operator(surface=Parallel, kind="loop", check=check_parallel)
RANGES = {"serial": SERIAL, "Serial": SERIAL, "unroll": UNROLL, "Unroll": UNROLL}

OPERATORS = (SERIAL, PIPELINED, UNROLL, PARALLEL)
