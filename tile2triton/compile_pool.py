"""Processes that compile beside each other, each job once."""

import os
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from .compile_job import Job
from .compile_process import CompileProcess
from .diagnostics import Diagnostic
from .kernel_report import KernelReport
from .patch_metadata import PatchMetadata
from .resources import too_large
from .targets import Target, target

Progress = Callable[[KernelReport], None]

SECONDS_A_KERNEL = 180.0


class CompilePool:
    """Compiles jobs in the order in which they come; equal jobs share a report."""

    def __init__(
        self,
        seconds: float = SECONDS_A_KERNEL,
        progress: Progress | None = None,
        workers: int | None = None,
    ) -> None:
        self.seconds = seconds
        self.progress = progress
        self.most = workers or os.cpu_count() or 1
        self.known: dict[str, Future[KernelReport]] = {}
        self.waiting: queue.SimpleQueue[tuple[Job, Future[KernelReport]] | None] = (
            queue.SimpleQueue()
        )
        self.threads: list[threading.Thread] = []
        self.lock = threading.Lock()

    def __enter__(self) -> "CompilePool":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Wait for everything that was submitted, unless an error, or the user, ends it all."""
        for _thread in self.threads:
            self.waiting.put(None)
        for thread in self.threads if kind is None else ():
            thread.join()

    def submit(self, job: Job) -> Future[KernelReport]:
        """The report of a job, once there is one."""
        key = repr(job)
        if key in self.known:
            return self.known[key]
        report: Future[KernelReport] = Future()
        self.known[key] = report
        problem = _missing_element(job)
        if problem is not None:
            self._finish(report, _report(job, {}, problem))
            return report
        self.waiting.put((job, report))
        if len(self.threads) < self.most:
            thread = threading.Thread(target=self._work, daemon=True)
            self.threads.append(thread)
            thread.start()
        return report

    def _work(self) -> None:
        with CompileProcess() as worker:
            while (next_one := self.waiting.get()) is not None:
                job, report = next_one
                try:
                    answer = worker.answer(job, self.seconds)
                except Exception as error:
                    report.set_exception(error)
                    continue
                self._finish(report, _judged(job, answer))

    def _finish(self, report: Future[KernelReport], found: KernelReport) -> None:
        with self.lock:
            report.set_result(found)
            if self.progress is not None:
                self.progress(found)


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
        listing=answer.get("listing", {}),
        left_out=PatchMetadata.read(answer.get("patches", "")).left_out,
    )
