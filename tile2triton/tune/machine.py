"""The machine to tune on: its chip, its devices, and what compiles and measures there."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

from tile2triton.environment import TUNE_PROCESSES
from tile2triton.worker_process import Worker, WorkerProcess


def compiler() -> WorkerProcess:
    """A process that compiles candidates."""
    return WorkerProcess("tile2triton.tune.compile_worker", "compiling", "the compiler")


def bench() -> WorkerProcess:
    """A process that runs and times candidates."""
    name = "the process that ran the kernel"
    return WorkerProcess("tile2triton.tune.measure_worker", "running", name)


@dataclass(frozen=True)
class Machine:
    """`target` is what Triton's drivers say: back end, architecture, threads of a warp."""

    chip: str
    target: tuple[str, int | str, int]
    # One process measures on each of these, as torch names them.
    devices: tuple[str, ...]
    compiler: Callable[[], Worker] = compiler
    bench: Callable[[], Worker] = bench
    # How many compilers there are at a time.
    processes: int = 1


def this_machine() -> Machine | None:
    """The GPUs of this process, which must be alike; None where there is none to measure on."""
    import torch

    if not torch.cuda.is_available():
        return None
    from triton.runtime import driver

    here = torch.cuda.current_device()
    chip = torch.cuda.get_device_name(here)
    alike = [i for i in range(torch.cuda.device_count()) if torch.cuda.get_device_name(i) == chip]
    found = driver.active.get_current_target()
    return Machine(
        chip=chip,
        target=(found.backend, found.arch, found.warp_size),
        # The current device comes first: a single candidate is measured where it will run.
        devices=tuple(f"cuda:{i}" for i in sorted(alike, key=lambda i: (i != here, i))),
        processes=available_processors(),
    )


def available_processors() -> int:
    """How many processes may compute at the same time."""
    if TUNE_PROCESSES.value.isdecimal():
        return max(1, int(TUNE_PROCESSES.value))
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
