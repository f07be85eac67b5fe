"""`tilelang.testing.regression`: run a script's measurements and print their latencies."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class PerfResult:
    """One measured latency, and the function that it was measured in."""

    name: str
    latency: float


_results: list[PerfResult] = []


def process_func(function: Callable[..., Any], name: str | None = None, /, **keywords: Any) -> None:
    """Call a function that returns a latency, and set it down by its name or its module's."""
    found = name or function.__module__
    _results.append(PerfResult(found.removeprefix("regression_"), float(function(**keywords))))


def regression(prefixes: Sequence[str] = ("regression_",), verbose: bool = True) -> None:
    """Call every function of the calling file whose name starts so, and print the latencies."""
    functions = sorted(
        (name, value)
        for name, value in sys._getframe(1).f_globals.items()
        if callable(value) and name.startswith(tuple(prefixes))
    )
    _results.clear()
    for at, (name, function) in enumerate(functions, 1):
        if verbose:
            print(f"[{at}/{len(functions)}] {name}", flush=True)
        function()
    for result in _results:
        print(f"{result.name}: {result.latency}")
