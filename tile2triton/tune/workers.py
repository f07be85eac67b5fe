"""Processes that stay for a whole search: what compiles, and what measures on each device."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType

from tile2triton.tune.candidates import Candidate
from tile2triton.tune.compiling import compile_all
from tile2triton.tune.expected import Files
from tile2triton.tune.machine import Machine
from tile2triton.tune.measuring import Best, MeasuringProcess, measure_all
from tile2triton.tune.report import Row
from tile2triton.tune.settings import Settings
from tile2triton.tune.trial import Trial
from tile2triton.worker_process import Worker


class Workers:
    """A machine's processes, which end with the `with` block."""

    def __init__(self, machine: Machine, settings: Settings, seconds: float) -> None:
        """`seconds` is when to stop compiling one candidate."""
        self.machine = machine
        self.seconds = seconds
        self.settings = settings
        self.best = Best()
        self._stack = ExitStack()
        self._compilers: list[AbstractContextManager[Worker]] = []
        self._benches: list[MeasuringProcess] = []

    def __enter__(self) -> Workers:
        for _ in range(self.machine.processes):
            entered = self._stack.enter_context(self.machine.compiler())
            self._compilers.append(contextlib.nullcontext(entered))
        for device in self.machine.devices:
            process = MeasuringProcess(self.machine, device, self.settings)
            self._benches.append(self._stack.enter_context(process))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def compile(
        self,
        trial: Trial,
        configs: Sequence[dict[str, object]],
        first: int,
        done: Callable[[Candidate, Row | None], object],
    ) -> None:
        """Make and compile configurations, the first of which has the number `first`."""
        compile_all(
            trial.distinct(configs, first),
            trial.files_of,
            self.machine,
            done,
            len(configs),
            self._compilers[: len(configs)],
            self.seconds,
        )

    def measure(
        self,
        candidates: Sequence[Candidate],
        files_of: Callable[[Candidate], Files],
        done: Callable[[Candidate, Row], object],
        rep: int,
    ) -> None:
        """Check and time candidates, each with so many runs."""
        settings = dataclasses.replace(self.settings, rep=rep, warmup=max(1, rep // 4))
        for process in self._benches:
            process.settings = settings
        benches = [contextlib.nullcontext(one) for one in self._benches[: len(candidates)]]
        measure_all(candidates, files_of, self.machine, settings, done, benches, self.best)
