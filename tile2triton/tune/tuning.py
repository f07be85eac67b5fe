"""Find the fastest configuration: make, compile, run and check, time, and set down what became."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tile2triton.diagnostics import TileError
from tile2triton.observing import observer, refusals_of
from tile2triton.tune import store
from tile2triton.tune.candidates import Candidate, said
from tile2triton.tune.compiling import compile_all
from tile2triton.tune.described import described, source_of
from tile2triton.tune.inputs import get_autotune_inputs
from tile2triton.tune.machine import Machine, this_machine
from tile2triton.tune.measuring import measure_all
from tile2triton.tune.progress import Progress
from tile2triton.tune.report import Row, TuningReport, repeated
from tile2triton.tune.request import Request, Tuned, measured_by, nothing_left, nothing_made
from tile2triton.tune.search import search
from tile2triton.tune.settings import Settings
from tile2triton.tune.space import space_of
from tile2triton.tune.subject import Subject
from tile2triton.tune.trial import Trial
from tile2triton.tune.untuned import first_that_compiles, first_that_is_made


def tune(request: Request) -> Tuned:
    """The fastest of the configurations, measured here or stored before.

    Where there is nothing to measure on, it is the first one that will do. Raises `TuningError`
    with a row for every configuration where none will.
    """
    if observer() is not None:
        with refusals_of(request.name):
            return first_that_compiles(request)
    machine = None if _is_interpreted(request.call) else this_machine()
    if machine is None:
        return first_that_is_made(request)
    key = _key(request, machine)
    tuned = _stored(request, key)
    if tuned is None:
        tuned, best = _measured(request, machine)
        assert tuned.report is not None, "what was measured has a report"
        text = store.digest(tuned.kernel.triton_source)
        store.write(key, store.Stored(best, text, tuned.report))
    if request.verbose:
        print(tuned.report, file=sys.stderr)
    return tuned


def tune_space(
    subject: Subject, settings: Settings, seconds: float, call: tuple[Any, ...] | None
) -> Tuned | None:
    """The fastest of a program's schedules, measured here or stored before.

    None where there is nothing to measure on, which is said on standard error. Raises `TuningError`
    where no schedule is right.
    """
    if observer() is not None:
        return None
    machine = None if _is_interpreted(call) else this_machine()
    if machine is None:
        name = subject.function.__name__
        print(
            f"tile2triton: `{name}` is tuned on a GPU only; here it runs as it is", file=sys.stderr
        )
        return None
    tuned = search(subject, space_of(subject), machine, seconds, settings, call)
    if dict(subject.kernel.options.recorded).get("verbose"):
        print(tuned.report, file=sys.stderr)
    return tuned


def _measured(request: Request, machine: Machine) -> tuple[Tuned, int]:
    """The best configuration and its number, by trying all of them on the machine."""
    rows: dict[int, Row] = {}
    with (
        Progress(request.name, len(request.configs)) as progress,
        tempfile.TemporaryDirectory(prefix="tile2triton-tuning-") as folder,
    ):
        trial = Trial(request, machine, Path(folder), progress.advance)

        def compiled(candidate: Candidate, row: Row | None) -> None:
            if row is not None:
                rows[candidate.index] = row
            progress.advance()

        def measured(candidate: Candidate, row: Row) -> None:
            rows[candidate.index] = row
            progress.advance(row.latency if row.is_measured else None)

        progress.phase("compile")
        compile_all(trial.distinct(), trial.files_of, machine, compiled, len(request.configs))
        trial.end()
        if not trial.first:
            raise nothing_made(request.name, machine.chip, request.configs, trial.refused)
        left = [one for one in trial.first.values() if one.index not in rows]
        progress.phase("measure", len(left))
        measure_all(left, trial.files_of, machine, request.settings, measured)
    for index, error in trial.refused.items():
        rows[index] = Row(request.configs[index], "refused", reason=said(error))
    for one in trial.again:
        first = trial.first[one.path]
        rows[one.index] = repeated(one.config, rows[first.index])
    ordered = tuple(rows[index] for index in range(len(request.configs)))
    report = TuningReport(request.name, machine.chip, ordered, trial.reference.latency)
    if report.best is None:
        raise nothing_left(report)
    best = next(index for index, row in enumerate(ordered) if row is report.best)
    kernel = next(one.kernel for one in trial.first.values() if one.index == best)
    return measured_by(report, kernel, request.configs[best]), best


def _is_interpreted(call: Sequence[Any] | None) -> bool:
    """Whether all tensors of the call are on the CPU, where there is nothing to measure."""
    places = [value.device.type for value in call or () if hasattr(value, "device")]
    return bool(places) and set(places) == {"cpu"}


def _stored(request: Request, key: str) -> Tuned | None:
    """A stored result, if its best configuration still makes the same Triton."""
    found = store.read(key, request.configs)
    if found is None or not 0 <= found.best < len(request.configs):
        return None
    config = request.configs[found.best]
    try:
        kernel = request.make(config)
    except TileError:
        return None
    if store.digest(kernel.triton_source) != found.text:
        return None
    return measured_by(found.report, kernel, config)


def _key(request: Request, machine: Machine) -> str:
    import torch
    import triton

    parts = [
        source_of(request.function),
        described(request.arguments),
        described(request.configs),
        described(request.options),
        described(vars(request.settings)),
        described(get_autotune_inputs()),
        described(request.call),
        machine.chip,
        triton.__version__,
        torch.__version__,
    ]
    return store.key_of(parts)
