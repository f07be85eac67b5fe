"""A configuration where nothing can be measured: the first one that will do."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

from tile2triton.compile_check import check_all
from tile2triton.diagnostics import TileError
from tile2triton.frontend.compiled import CompiledKernel
from tile2triton.measure import do_bench
from tile2triton.observing import observed_by, observer
from tile2triton.tune.report import described
from tile2triton.tune.request import Request, Tuned, nothing_made

# Compiling takes seconds, and lists of configurations may be long.
MOST_COMPILED = 6


def first_that_is_made(request: Request) -> Tuned:
    """The first configuration that makes a kernel, with a notice on standard error.

    Its times are NaN, with which scripts compute and print.
    """
    tuned = _first_made(request)
    print(
        f"tile2triton: `{request.name}` is tuned on a GPU only; here it is made with "
        f"{described(tuned.config)}",
        file=sys.stderr,
    )
    return _timed(tuned, request, math.nan)


def first_that_compiles(request: Request) -> Tuned:
    """The first of some configurations that compiles for all targets that are checked.

    Only that one is seen by who follows the making of kernels: of a list of configurations, some
    may be for other chips. Where none compiles, it is the first that makes a kernel.
    """
    follower = observer()
    assert follower is not None, "somebody checks kernels"
    tries = 0

    def compiles(kernel: CompiledKernel) -> bool:
        nonlocal tries
        if not follower.compiles:
            return True
        tries += 1
        if tries > MOST_COMPILED:
            return False
        try:
            modules = [(*kernel.emitted_for(name), name) for name in follower.targets]
        except TileError:
            return False
        return all(report.ok for report in check_all(modules))

    with observed_by(None):
        tuned = _first(request, compiles) or _first_made(request)
    follower.made(tuned.kernel)
    # What a script computes from the time is as true as the time that its GPU gives.
    time = do_bench(lambda: None)
    assert isinstance(time, float), "one number is asked for"
    return _timed(tuned, request, time)


def _timed(tuned: Tuned, request: Request, time: float) -> Tuned:
    has_reference = request.settings.ref_prog is not None
    return Tuned(tuned.kernel, tuned.config, time, time if has_reference else None)


def _first(request: Request, will_do: Callable[[CompiledKernel], bool]) -> Tuned | None:
    """The first configuration whose kernel will do, None where none will.

    Raises what keeps all of them from being kernels.
    """
    refused: dict[int, Exception] = {}
    for index, config in enumerate(request.configs):
        try:
            kernel = request.make(config)
        except Exception as error:
            refused[index] = error
        else:
            if will_do(kernel):
                return Tuned(kernel, config)
    if len(refused) < len(request.configs):
        return None
    raise nothing_made(request.name, "no GPU", request.configs, refused)


def _first_made(request: Request) -> Tuned:
    tuned = _first(request, lambda kernel: True)
    assert tuned is not None, "a kernel that is made will do"
    return tuned
