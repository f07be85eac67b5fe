"""Compile an emitted module for targets that need not be there, and report what it takes."""

import dataclasses
from collections.abc import Iterable

from rewrites.facts import Facts

from .compile_job import jobs
from .compile_pool import SECONDS_A_KERNEL, CompilePool, Progress
from .kernel_report import KernelReport
from .module_cache import write_module
from .targets import BY_NAME, target


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
    is_listed: bool = False,
) -> list[KernelReport]:
    """One report for each kernel of each (text, facts, target); `progress` sees each when done.

    With `is_listed` each holds what the compiler made, as text.

    Kernels compile beside each other in processes of their own, each for `seconds` at most, so
    that neither a crash nor a hang of a compiler reaches the caller. Reports come in the order of
    the modules. Raises ValueError for an unknown target.
    """
    planned = [
        job
        for text, facts, name in modules
        for job in jobs(str(write_module(text, facts.name)), facts, target(name), is_listed)
    ]
    with CompilePool(seconds, progress) as pool:
        waiting = [pool.submit(job) for job in planned]
    return [report.result() for report in waiting]
