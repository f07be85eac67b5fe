"""`tile2triton tune`: the fastest schedule of a kernel on this machine, or what would be tried."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tile2triton.commands.kernels import (
    Source,
    UsageError,
    UserError,
    compiled,
    kernels_in,
    settings_of,
)
from tile2triton.frontend.compiled import DEFAULT_TARGET, CompiledKernel, default_target
from tile2triton.frontend.prim_func import PrimFunc
from tile2triton.schedule import Schedule
from tile2triton.tune.cost import Ranked, judged, ranked
from tile2triton.tune.machine import this_machine
from tile2triton.tune.report import Row, TuningReport
from tile2triton.tune.report import described as as_keywords
from tile2triton.tune.request import Tuned
from tile2triton.tune.search import search
from tile2triton.tune.settings import Settings
from tile2triton.tune.space import Space, space_of
from tile2triton.tune.subject import subject_of

# What `--dry` prints of a space.
SHOWN = 20


def tune(
    place: str,
    target: str | None,
    settings: Sequence[str],
    seconds: float,
    write: str | None,
    as_json: bool,
    dry: bool,
) -> int:
    """Search a kernel's schedules and print what became of them; the exit code."""
    name, kernel = _one(kernels_in(place), place)
    if isinstance(kernel, (PrimFunc, CompiledKernel)):
        raise UsageError(
            f"`{name}` is made already and has no schedule to choose; tune a function under "
            "@tile2triton.kernel"
        )
    has_torch = importlib.util.find_spec("torch") is not None
    machine = this_machine() if has_torch and not dry else None
    if machine is None and not dry:
        raise UserError(
            f"there is no GPU to tune {name} on; --dry prints what would be tried, in which order"
        )
    given = settings_of(settings)
    chosen = target or (DEFAULT_TARGET if machine is None else default_target())
    # What is missing is said in this command's own words.
    compiled(name, kernel, given, chosen)
    space = space_of(subject_of(kernel, (), given, chosen))
    if machine is None:
        _print_space(name, space, as_json)
        return 0
    found = search(space.subject, space, machine, seconds, Settings())
    assert found.report is not None, "what was searched has a report"
    if as_json:
        print(json.dumps(_as_json(found, found.report), indent=1))
    else:
        print("\n".join([*_table(found.report), "", *_pasted(name, found)]))
    if write is not None:
        _write(Path(write), name, chosen, found)
    return 0


def _one(kernels: dict[str, Source], place: str) -> tuple[str, Source]:
    if len(kernels) > 1:
        names = ", ".join(kernels)
        raise UsageError(
            f"{place} has several kernels ({names}); write {place}:{next(iter(kernels))}"
        )
    return next(iter(kernels.items()))


def _table(report: TuningReport) -> list[str]:
    """The fastest first, with its time as a part of the program's own; then what was excluded."""
    usual = next((row.latency for row in report.rows if not row.config and row.is_measured), None)
    rows = sorted(
        (row for row in report.rows if row.latency is not None),
        key=lambda row: (not row.is_measured, row.latency or 0.0),
    )
    lines = [f"{report.name} on {report.chip}: {len(report.rows)} schedules"]
    lines.append(f"{'rank':>4}  {'ms':>9}  {'gain':>6}  {'error':>8}  schedule")
    for number, row in enumerate(rows, 1):
        gain = "" if usual is None else f"{usual / (row.latency or usual):.2f}x"
        error = "" if row.error is None else f"{row.error:.1e}"
        note = "" if row.is_measured else f"  ({row.status})"
        lines.append(
            f"{number:>4}  {row.latency:>9.4f}  {gain:>6}  {error:>8}  {_schedule(row)}{note}"
        )
    excluded = [row for row in report.rows if row.latency is None]
    lines += ["excluded:"] if excluded else []
    for row in excluded:
        reason = row.reason.strip().partition("\n")[0]
        lines.append(f"      {row.status}: {_schedule(row)}: {reason}")
    return lines


def _schedule(row: Row) -> str:
    return as_keywords(row.config) or "as it is"


def _pasted(name: str, found: Tuned) -> list[str]:
    if not found.config:
        return [f"{name} is fastest as it is"]
    return [f"{name} = {name}.scheduled(tile2triton.Schedule({as_keywords(found.config)}))"]


def _write(path: Path, name: str, target: str, found: Tuned) -> None:
    """Write what holds on this chip; what a file says of others stays."""
    schedule = Schedule.read(path) if path.exists() else Schedule(name)
    if found.config:
        schedule = schedule.on(target, **found.config)
    schedule.write(path)


def _as_json(found: Tuned, report: TuningReport) -> dict[str, Any]:
    rows = [
        {
            "schedule": row.config,
            "status": row.status,
            "ms": row.latency,
            "error": row.error,
            "reason": row.reason,
        }
        for row in report.rows
    ]
    best = {"schedule": found.config, "ms": found.latency}
    return {"kernel": report.name, "chip": report.chip, "best": best, "rows": rows}


def _print_space(name: str, space: Space, as_json: bool) -> None:
    order = ranked(space)
    if as_json:
        print(json.dumps([_expected(space, one) for one in order], indent=1))
        return
    target = space.subject.target
    print(f"{name} for {target}: {len(space)} schedules, of which {len(order)} can be")
    for knob in space.knobs:
        values = ", ".join("as it is" if one is None else str(one) for one in knob.values)
        print(f"  {knob.name}: {values}")
    print(f"{'rank':>4}  {'expected ms':>11}  {'KiB':>4}  {'regs':>4}  schedule")
    for number, one in enumerate(order[:SHOWN], 1):
        row, estimate = _expected(space, one), one.estimate
        print(
            f"{number:>4}  {estimate.milliseconds:>11.4f}  {estimate.shared_memory // 1024:>4}  "
            f"{estimate.registers:>4}  {as_keywords(row['schedule']) or 'as it is'}"
        )
    for problem, count in _problems(space).items():
        print(f"  {count} left out, such as: {problem}")


def _expected(space: Space, one: Ranked) -> dict[str, Any]:
    estimate = one.estimate
    return {
        "schedule": space.schedule(one.point).as_dict(),
        "expected ms": estimate.milliseconds,
        "shared memory": estimate.shared_memory,
        "registers": estimate.registers,
        "programs beside": estimate.beside,
    }


def _problems(space: Space) -> dict[str, int]:
    """How many points cannot be for each kind of reason, by the first one's words."""
    kinds: dict[str, tuple[str, int]] = {}
    for one in judged(space):
        problem = one.estimate.problem
        if problem:
            kind = problem.partition(" ")[0]
            first, count = kinds.get(kind, (problem, 0))
            kinds[kind] = (first, count + 1)
    return dict(kinds.values())
