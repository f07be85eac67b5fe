"""Compile candidates beside each other, so that launching them finds them on disk."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tile2triton.resources import too_large
from tile2triton.targets import TARGETS
from tile2triton.tune.candidates import Candidate
from tile2triton.tune.expected import Files
from tile2triton.tune.machine import Machine
from tile2triton.tune.report import Row

# For one candidate; the process that compiles starts within it.
SECONDS = 300.0


def compile_all(
    candidates: Sequence[Candidate],
    files_of: Callable[[Candidate], Files],
    machine: Machine,
    done: Callable[[Candidate, Row | None], object],
) -> None:
    """Compile every candidate; `done` gets a row for each that does not compile, or None.

    `done` may be called from several threads, never by two at the same time.
    """
    waiting: queue.SimpleQueue[Candidate] = queue.SimpleQueue()
    for candidate in candidates:
        waiting.put(candidate)
    lock = threading.Lock()

    def work() -> None:
        with machine.compiler() as process:
            while True:
                try:
                    candidate = waiting.get_nowait()
                except queue.Empty:
                    return
                answer = process.ask(_question(candidate, files_of(candidate), machine), SECONDS)
                with lock:
                    done(candidate, _judged(candidate, answer, machine))

    threads = [
        threading.Thread(target=work, daemon=True)
        for _ in range(min(machine.processes, len(candidates)))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _question(candidate: Candidate, files: Files, machine: Machine) -> dict[str, Any]:
    return {
        "path": str(candidate.path),
        "name": candidate.kernel.name,
        "target": machine.target,
        "arguments": files.outline,
    }


def _judged(candidate: Candidate, answer: Mapping[str, Any], machine: Machine) -> Row | None:
    if "error" in answer:
        status = "hangs" if answer.get("hung") else "does not compile"
        lines = answer["error"].strip().splitlines()
        printed = [one for one in answer["messages"].splitlines() if "error" in one.lower()]
        return Row(candidate.config, status, reason="\n".join([*lines[:1], *printed[:3]]))
    backend, arch, _ = machine.target
    row = next((one for one in TARGETS if (one.backend, one.arch) == (backend, arch)), None)
    if row is not None:
        limits = {"shared memory": row.shared_memory, "tensor memory": row.tensor_memory}
        for resource, limit in limits.items():
            if answer[resource] > limit:
                problem = too_large(
                    candidate.kernel.name, resource, answer[resource], limit, machine.chip
                )
                return Row(candidate.config, "too large", reason=problem.message)
    return None
