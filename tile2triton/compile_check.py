"""Compile an emitted module for targets that need not be there, and report what it takes."""

import dataclasses
import os
import queue
import threading
from collections.abc import Callable, Iterable
from typing import Any

from rewrites.facts import Facts

from .compile_job import Job, jobs
from .compile_process import CompileProcess
from .diagnostics import Diagnostic
from .kernel_report import KernelReport
from .module_cache import write_module
from .resources import too_large
from .targets import BY_NAME, Target, target

Progress = Callable[[KernelReport], None]

SECONDS_A_KERNEL = 180.0


def compile_module(
    text: str, name: str, target: str, facts: Facts, seconds: float = SECONDS_A_KERNEL
) -> list[KernelReport]:
    """One report for each kernel of the emitted module `text`, for one target."""
    return check(text, dataclasses.replace(facts, name=name), (target,), seconds=seconds)


def check(
    text: str,
    facts: Facts,
    targets: Iterable[str] = tuple(BY_NAME),
    progress: Progress | None = None,
    seconds: float = SECONDS_A_KERNEL,
) -> list[KernelReport]:
    """One report for each target and kernel of an emitted module, like `check_all`."""
    return check_all([(text, facts, name) for name in targets], progress, seconds)


def check_all(
    modules: Iterable[tuple[str, Facts, str]],
    progress: Progress | None = None,
    seconds: float = SECONDS_A_KERNEL,
) -> list[KernelReport]:
    """One report for each kernel of each (text, facts, target); `progress` sees each when done.

    Kernels compile beside each other in processes of their own, each for `seconds` at most, so
    that neither a crash nor a hang of a compiler reaches the caller. Reports come in the order of
    the modules. Raises ValueError for an unknown target.
    """
    planned = [
        job
        for text, facts, name in modules
        for job in jobs(str(write_module(text, facts.name)), facts, target(name))
    ]
    reports: dict[int, KernelReport] = {}
    waiting: queue.SimpleQueue[tuple[int, Job]] = queue.SimpleQueue()
    lock = threading.Lock()

    def finish(index: int, report: KernelReport) -> None:
        with lock:
            reports[index] = report
            if progress is not None:
                progress(report)

    for index, job in enumerate(planned):
        problem = _missing_element(job)
        if problem is None:
            waiting.put((index, job))
        else:
            finish(index, _report(job, {}, problem))

    def work() -> None:
        with CompileProcess() as worker:
            while True:
                try:
                    index, job = waiting.get_nowait()
                except queue.Empty:
                    return
                finish(index, _judged(job, worker.answer(job, seconds)))

    threads = [
        threading.Thread(target=work, daemon=True)
        for _ in range(min(os.cpu_count() or 1, waiting.qsize()))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [reports[index] for index in range(len(planned))]


def _missing_element(job: Job) -> Diagnostic | None:
    row = target(job.target)
    missing = [name for name in job.elements if "float8" in name and name not in row.float8]
    if not missing:
        return None
    return Diagnostic(
        code="T2T405",
        message=f"{_device(row)} has no {' and no '.join(missing)}",
        found=(f"`{job.kernel}` has tensors of {', '.join(job.elements)}",),
        hint=f"use {' or '.join(row.float8)} there",
    )


def _judged(job: Job, answer: dict[str, Any]) -> KernelReport:
    """The compiler's answer as a report, with what is wrong in the user's words."""
    row = target(job.target)
    if "error" in answer:
        return _report(job, answer, _does_not_compile(job, row, answer))
    for resource, needed, limit in (
        ("shared memory", answer["shared_memory"], row.shared_memory),
        ("tensor memory", answer["tensor_memory"], row.tensor_memory),
    ):
        if needed > limit:
            problem = too_large(job.kernel, resource, needed, limit, _device(row), job.constants)
            return _report(job, answer, problem)
    return _report(job, answer, None)


def _does_not_compile(job: Job, row: Target, answer: dict[str, Any]) -> Diagnostic:
    lines = [line for line in answer.get("messages", "").splitlines() if "error" in line.lower()]
    return Diagnostic(
        code="T2T404",
        message=f"`{job.kernel}` does not compile for {_device(row)}",
        found=(answer["error"], *lines[:3]),
        hint="read the kernel with `tile2triton emit`; what the target lacks is named above",
    )


def _device(row: Target) -> str:
    return f"{row.name} ({row.label})"


def _report(job: Job, answer: dict[str, Any], problem: Diagnostic | None) -> KernelReport:
    return KernelReport(
        kernel=job.kernel,
        target=job.target,
        problem=problem,
        registers=answer.get("registers", 0),
        spills=answer.get("spills", 0),
        shared_memory=answer.get("shared_memory", 0),
        shared_limit=target(job.target).shared_memory,
        num_warps=job.options["num_warps"],
        num_stages=job.options["num_stages"],
        instructions=answer.get("instructions", {}),
        seconds=answer.get("seconds", 0.0),
    )
