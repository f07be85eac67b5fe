"""Runs a script in a process of its own, compiles what it makes meanwhile, and reports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tile2triton.checking.events import Event, told
from tile2triton.checking.results import Kernel, Problem, Refusal, Result
from tile2triton.compile_job import Job
from tile2triton.compile_pool import SECONDS_A_KERNEL, CompilePool
from tile2triton.family import Family
from tile2triton.kernel_report import KernelReport

# More missing packages than this, and the script is given up.
MOST_PACKAGES = 8


@dataclass(frozen=True)
class Order:
    """What to check, and how."""

    script: str
    targets: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    pytest: bool = False
    compiles: bool = True
    seconds: float = 600.0
    seconds_a_kernel: float = SECONDS_A_KERNEL
    workers: int | None = None


@dataclass
class _Run:
    """What one run of the script has told so far."""

    kernels: dict[str, Kernel] = field(default_factory=dict)
    refusals: list[Refusal] = field(default_factory=list)
    # Which process was the first to be refused a kernel.
    refused: dict[tuple[str, ...], int] = field(default_factory=dict)
    reports: list[tuple[Kernel, str, Future[KernelReport]]] = field(default_factory=list)
    end: Event = field(default_factory=dict)
    # Processes that the script started: those that failed, and those that nobody followed.
    failed: list[Event] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)
    comparisons: int = 0
    guesses: int = 0
    guessed_at: list[str] = field(default_factory=list)


def check_script(order: Order, say: Callable[[str], None] = lambda line: None) -> Result:
    """Run the script without a GPU; `say` gets a line of progress for each kernel.

    A package that is not installed is replaced by stand-ins and the script begins anew.
    """
    absent: list[str] = []
    while True:
        with CompilePool(order.seconds_a_kernel, workers=order.workers) as pool:
            run, output, returncode, hung = _once(order, absent, pool, say)
            _collect(run, say)
        missing = [name for name in _missing(run) if name not in absent]
        if not missing or len(absent) > MOST_PACKAGES:
            return _result(order, run, absent, output, returncode, hung)
        say(f"{', '.join(missing)} not installed: beginning anew with stand-ins")
        absent += missing


def _missing(run: _Run) -> list[str]:
    """The packages for want of which the script failed: also those that it went on without."""
    if run.end.get("how") == "package":
        return [run.end["package"]]
    failed = [run.end] if run.end.get("how") == "exception" else run.failed
    return list(dict.fromkeys(name for one in failed for name in one["missed"]))


def _once(
    order: Order, absent: Sequence[str], pool: CompilePool, say: Callable[[str], None]
) -> tuple[_Run, str, int, bool]:
    run = _Run()
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        family, events = _started(order, absent, output)
        hung = threading.Event()
        ending = threading.Thread(target=_end_in_time, args=(family, order.seconds, hung))
        ending.start()
        try:
            for process, event in told(events):
                _take(event, process, run, order, pool, say)
        finally:
            family.end()
            ending.join()
        output.seek(0)
        return run, output.read(), family.process.returncode, hung.is_set()


def _started(order: Order, absent: Sequence[str], output: Any) -> tuple[Family, int]:
    reading, writing = os.pipe()
    told = {
        "script": order.script,
        "arguments": order.arguments,
        "pytest": order.pytest,
        "targets": order.targets,
        "compiles": order.compiles,
        "absent": absent,
        "events": writing,
    }
    root = str(Path(__file__).parents[2])
    paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
    family = Family(
        [sys.executable, "-m", "tile2triton.checking.child", json.dumps(told)],
        {**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        pass_fds=(writing,),
    )
    os.close(writing)
    return family, reading


def _end_in_time(family: Family, seconds: float, hung: threading.Event) -> None:
    """End what the script started when the script has ended, or its time."""
    try:
        family.process.wait(seconds)
    except subprocess.TimeoutExpired:
        hung.set()
    family.kill()


def _take(
    event: Event,
    process: int,
    run: _Run,
    order: Order,
    pool: CompilePool,
    say: Callable[[str], None],
) -> None:
    match event["event"]:
        case "kernel" if event["key"] not in run.kernels:
            kernel = run.kernels[event["key"]] = _kernel(event)
            say(f"{kernel.name} ({kernel.file}:{kernel.line}) transpiled")
            for target, made in event["targets"].items():
                for job in made.get("jobs", ()) if order.compiles else ():
                    run.reports.append((kernel, target, pool.submit(_job(job))))
        case "refused":
            refusal = Refusal(event["name"], [Problem(**one) for one in event["problems"]])
            texts = (refusal.name, *(one.text for one in refusal.problems))
            # Processes that multiprocessing starts make the kernels of the script's file again.
            if run.refused.setdefault(texts, process) == process:
                run.refusals.append(refusal)
                say(f"{refusal.name or 'a kernel'} refused: {refusal.first}")
        case "launched":
            run.kernels[event["key"]].launches += 1
        case "compared":
            run.comparisons += 1
        case "guessed":
            run.guesses += 1
            if event["at"] not in run.guessed_at:
                run.guessed_at.append(event["at"])
        case "process" if event["code"] != 0:
            run.failed.append(event)
        case "unchecked" if event["command"] not in run.unchecked:
            run.unchecked.append(event["command"])
        case "end":
            run.end = event


def _kernel(event: Event) -> Kernel:
    kernel = Kernel(event["name"], event["file"], event["line"])
    kernel.constants = event["constants"]
    kernel.settings = event["settings"]
    for target, made in event["targets"].items():
        kernel.paths[target] = made.get("path", "")
        kernel.refused[target] = [Problem(**one) for one in made.get("problems", ())]
        for row in made.get("erased", ()):
            if row not in kernel.erased:
                kernel.erased.append(row)
    return kernel


def _job(fields: Event) -> Job:
    fields = dict(fields)
    fields["types"] = tuple(fields["types"])
    fields["elements"] = tuple(fields["elements"])
    fields["attributes"] = {
        int(key): [tuple(pair) for pair in pairs] for key, pairs in fields["attributes"].items()
    }
    return Job(**fields)


def _collect(run: _Run, say: Callable[[str], None]) -> None:
    for kernel, target, future in run.reports:
        report = future.result()
        kernel.reports.append(report)
        result = "ok" if report.ok else "failed"
        say(f"{report.kernel} for {target}: {result} ({report.seconds:.1f} s)")


def _result(
    order: Order, run: _Run, absent: list[str], output: str, returncode: int, hung: bool
) -> Result:
    end = run.end
    how, detail = end.get("how"), end.get("detail", "")
    if hung:
        how, detail = "timed out", f"stopped after {order.seconds:g} s"
    elif how is None:
        how, detail = "exception", f"the process ended abruptly (exit {returncode})"
    elif how == "finished" and run.failed:
        first = run.failed[0]
        how, detail = "exception", f"{first['name']}, which it started, exits with {first['code']}"
    needed = [name for name in dict.fromkeys(end.get("absent", ())) if name in absent]
    if how == "exception" and needed:
        how, detail = "package", f"needs {', '.join(needed)}: {detail}"
    elif how == "package":
        detail = f"needs {end['package']}"
    return Result(
        script=order.script,
        targets=order.targets,
        kernels=list(run.kernels.values()),
        refusals=run.refusals,
        how=how,
        detail=detail,
        where=end.get("where", ""),
        traceback=end.get("traceback", ""),
        output=output[-20000:],
        absent=absent,
        comparisons=run.comparisons,
        guesses=run.guesses,
        guessed_at=run.guessed_at[:20],
        unchecked=run.unchecked,
        compiled=order.compiles,
    )
