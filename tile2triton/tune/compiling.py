"""Compile candidates beside each other, so that launching them finds them on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from tile2triton.resources import too_large
from tile2triton.targets import TARGETS
from tile2triton.tune.candidates import Candidate
from tile2triton.tune.expected import Files
from tile2triton.tune.machine import Machine
from tile2triton.tune.report import Row
from tile2triton.tune.sharing import share_out
from tile2triton.worker_process import Worker

# For one candidate; the process that compiles starts within it.
SECONDS = 300.0


def compile_all(
    candidates: Iterable[Candidate],
    files_of: Callable[[Candidate], Files],
    machine: Machine,
    done: Callable[[Candidate, Row | None], object],
    most: int,
    processes: Sequence[AbstractContextManager[Worker]] = (),
    seconds: float = SECONDS,
) -> None:
    """Compile every candidate, of `most`, while others are being made.

    `done` gets a row for each that does not compile, or None. Without `processes`, some of the
    machine's are started and ended; `seconds` is when to stop one candidate.
    """

    def compiled(process: Worker, candidate: Candidate) -> Row | None:
        answer = process.ask(_question(candidate, files_of(candidate), machine), seconds)
        return _judged(candidate, answer, machine)

    own = [] if processes else [machine.compiler() for _ in range(min(machine.processes, most))]
    share_out(candidates, processes or own, compiled, done)


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
