"""Search a space within a time: best-ranked schedules first, then what is near the fastest."""

from __future__ import annotations

import dataclasses
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tile2triton.diagnostics import TileError
from tile2triton.schedule import Schedule
from tile2triton.supply import parameters
from tile2triton.tune import store
from tile2triton.tune.candidates import Candidate, said
from tile2triton.tune.cost import ranked
from tile2triton.tune.described import described, source_of
from tile2triton.tune.inputs import get_autotune_inputs
from tile2triton.tune.machine import Machine
from tile2triton.tune.progress import Progress
from tile2triton.tune.report import Row, TuningReport, repeated
from tile2triton.tune.request import Request, Tuned, measured_by, nothing_left
from tile2triton.tune.settings import Settings
from tile2triton.tune.space import Knob, Point, Space
from tile2triton.tune.subject import Subject
from tile2triton.tune.trial import Trial
from tile2triton.tune.workers import Workers

# Runs of a first timing, and of one of the few that are fastest.
SHORT, LONG = 12, 100
# What is timed again: so many, as far as they are not slower than the fastest by more than this.
FINALISTS, NEAR = 5, 1.15
# A batch that brings less than this ends a part of the search.
GAIN = 0.99
# The part of the time in which sizes are sought, before what is chosen beside them.
OF_SIZES = 0.6
# No compiler and no kernel is taken for hanging earlier: the first ones start processes.
LEAST = 60.0


def search(
    subject: Subject,
    space: Space,
    machine: Machine,
    seconds: float,
    settings: Settings,
    call: tuple[Any, ...] | None = None,
) -> Tuned:
    """The fastest schedule that was found, measured here or stored before.

    The reference's time is not counted. Raises `TuningError` with a row for every schedule where
    none is right.
    """
    key = _key(subject, machine, seconds, settings, call)
    settings = _checked(subject, settings)
    settings = dataclasses.replace(settings, timeout=min(settings.timeout, max(LEAST, seconds)))
    found = _stored(subject, key)
    if found is not None:
        return found
    request = Request(
        subject.function,
        {},
        (),
        lambda config: subject.made(Schedule(**config)),
        settings,
        subject.kernel.options,
        call,
        times_reference=False,
    )
    with (
        Progress(request.name, 0) as progress,
        tempfile.TemporaryDirectory(prefix="tile2triton-tuning-") as folder,
        Workers(machine, settings, max(LEAST, seconds)) as workers,
    ):
        trial = Trial(request, machine, Path(folder), progress.advance)
        seeking = _Search(space, workers, trial, progress, seconds)
        report = seeking.run()
    if report.best is None:
        raise nothing_left(report)
    best = report.rows.index(report.best)
    config = report.rows[best].config
    made = subject.made(Schedule(**config))
    stored = store.Stored(best, store.digest(made.triton_source), report)
    store.write(key, stored, [row.config for row in report.rows])
    return measured_by(report, made, config)


class _Search:
    """One search: what was tried, in order, and what became of it."""

    def __init__(
        self, space: Space, workers: Workers, trial: Trial, progress: Progress, seconds: float
    ) -> None:
        self.space = space
        self.workers = workers
        self.trial = trial
        self.progress = progress
        self.seconds = seconds
        self.starts = time.monotonic()
        self.points: list[Point] = []
        self.rows: dict[int, Row] = {}
        # Two for each compiler, so that none waits long for another.
        self.size = min(32, max(4, 2 * workers.machine.processes, len(workers.machine.devices)))

    def run(self) -> TuningReport:
        """Try sizes in their order, then what is near the fastest; time the fastest again."""
        order = [one.point for one in ranked(self.space)]
        self._begin()
        sizes = [point for point in order if self._chooses_nothing(point)]
        self._seek(iter(sizes), OF_SIZES * self.seconds)
        while self._seek(iter(self._near_best({*map(_frozen, order)})), self.seconds):
            pass
        self._time_again()
        return self.report()

    def report(self) -> TuningReport:
        rows = tuple(self.rows[index] for index in range(len(self.points)))
        name, chip = self.trial.request.name, self.workers.machine.chip
        return TuningReport(name, chip, rows)

    def _begin(self) -> None:
        """The program as it is: with it comes the reference, whose time is not counted."""
        self._try([self.space.usual])
        self.starts = time.monotonic()

    def _seek(self, points: Iterator[Point], seconds: float) -> bool:
        """Try points in batches until the time is over or two brought nothing; whether some did."""
        gained, idle = False, 0
        before = self._best()
        while idle < 2 and time.monotonic() - self.starts < seconds:
            batch = list(self._untried(points))
            if not batch:
                break
            self._try(batch)
            best = self._best()
            is_better = best is not None and (before is None or best < GAIN * before)
            gained, idle = gained or is_better, 0 if is_better else idle + 1
            before = best if is_better else before
        return gained

    def _untried(self, points: Iterator[Point]) -> Iterator[Point]:
        known = {*map(_frozen, self.points)}
        count = 0
        while count < self.size and (point := next(points, None)) is not None:
            if _frozen(point) not in known:
                count += 1
                yield point

    def _try(self, batch: Sequence[Point]) -> None:
        first = len(self.points)
        self.points += batch
        configs = [self.space.schedule(point).as_dict() for point in batch]
        compiled: list[Candidate] = []

        def done(candidate: Candidate, row: Row | None) -> None:
            if row is not None:
                self.rows[candidate.index] = row
            else:
                compiled.append(candidate)
            self.progress.advance()

        self.progress.phase("compile", len(batch))
        self.workers.compile(self.trial, configs, first, done)
        self.trial.end()
        # The order in which compilers end is no order to measure in.
        compiled.sort(key=lambda candidate: candidate.index)
        self._measure(compiled, SHORT)
        for index, error in self.trial.refused.items():
            if index not in self.rows:
                self.rows[index] = Row(configs[index - first], "refused", reason=said(error))
        for one in self.trial.again:
            if one.index not in self.rows:
                earlier = self.trial.first[one.path]
                self.rows[one.index] = repeated(one.config, self.rows[earlier.index])

    def _measure(self, candidates: Sequence[Candidate], rep: int) -> None:
        def done(candidate: Candidate, row: Row) -> None:
            self.rows[candidate.index] = row
            self.progress.advance(row.latency if row.is_measured else None)

        if candidates:
            self.progress.phase("measure", len(candidates))
            self.workers.measure(candidates, self.trial.files_of, done, rep)

    def _time_again(self) -> None:
        """Time those that are near the fastest with more runs."""
        best = self._best()
        if best is None:
            return
        near = [
            one
            for one in self.trial.first.values()
            if self.rows[one.index].is_measured
            and (self.rows[one.index].latency or 0.0) <= NEAR * best
        ]
        near.sort(key=lambda one: self.rows[one.index].latency or 0.0)
        self._measure(near[:FINALISTS], LONG)
        for one in self.trial.again:
            earlier = self.trial.first[one.path]
            self.rows[one.index] = repeated(one.config, self.rows[earlier.index])

    def _best(self) -> float | None:
        found = [row.latency for row in self.rows.values() if row.is_measured]
        return min((one for one in found if one is not None), default=None)

    def _chooses_nothing(self, point: Point) -> bool:
        return all(point[knob.name] is None for knob in self.space.knobs if _is_choice(knob))

    def _near_best(self, possible: set[Any]) -> Iterator[Point]:
        """What differs from the fastest in one thing: choices first, then one step of a size."""
        fastest = min(
            (index for index, row in self.rows.items() if row.is_measured),
            key=lambda index: self.rows[index].latency or 0.0,
            default=None,
        )
        if fastest is None:
            return
        best = self.points[fastest]
        for knob in sorted(self.space.knobs, key=_is_choice, reverse=True):
            at = knob.values.index(best[knob.name])
            steps = knob.values if _is_choice(knob) else knob.values[max(0, at - 1) : at + 2]
            for value in steps:
                point = {**best, knob.name: value}
                if value != best[knob.name] and _frozen(point) in possible:
                    yield point


def _is_choice(knob: Knob) -> bool:
    return None in knob.values


def _frozen(point: Point) -> tuple[Any, ...]:
    return tuple(point.values())


def _checked(subject: Subject, settings: Settings) -> Settings:
    """Settings with a reference: the program's meaning, where the user gives none."""
    if settings.ref_prog is not None or settings.skip_check:
        return settings
    kernel = subject.made()

    def meaning(*inputs: Any) -> Any:
        from tile2triton.reference import to_torch

        outputs = kernel.reference(*inputs)
        if outputs is None:
            return None
        several = outputs if isinstance(outputs, tuple) else (outputs,)
        return [to_torch(one) for one in several]

    return dataclasses.replace(settings, ref_prog=meaning)


def _stored(subject: Subject, key: str) -> Tuned | None:
    """A stored result, if its schedule still makes the same Triton."""
    found = store.read(key)
    if found is None or not 0 <= found.best < len(found.report.rows):
        return None
    config = found.report.rows[found.best].config
    try:
        kernel = subject.made(Schedule(**config))
    except TileError:
        return None
    if store.digest(kernel.triton_source) != found.text:
        return None
    return measured_by(found.report, kernel, config)


def _key(
    subject: Subject,
    machine: Machine,
    seconds: float,
    settings: Settings,
    call: tuple[Any, ...] | None,
) -> str:
    """The kernel's text, what it is made for, the chip, and how it is searched."""
    import torch
    import triton

    made = subject.made()
    parts = [
        "space",
        source_of(subject.function),
        made.triton_source,
        described(parameters(made.program.facts)),
        described({"seconds": seconds, **vars(settings)}),
        described(get_autotune_inputs()),
        described(call),
        machine.chip,
        subject.target,
        triton.__version__,
        torch.__version__,
    ]
    return store.key_of(parts)
