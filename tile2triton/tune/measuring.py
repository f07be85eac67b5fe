"""Run and time candidates in processes of their own, one a device."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from tile2triton.tune.candidates import Candidate
from tile2triton.tune.expected import Files
from tile2triton.tune.machine import Machine
from tile2triton.tune.report import Row
from tile2triton.tune.settings import Settings
from tile2triton.tune.sharing import share_out

# For importing torch, waking the GPU, and bringing the inputs there.
STARTING_SECONDS = 300.0

Done = Callable[[Candidate, Row], object]


@dataclass
class Best:
    """The shortest time so far, which all devices know."""

    latency: float | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def learn(self, latency: float) -> None:
        with self.lock:
            self.latency = latency if self.latency is None else min(self.latency, latency)


def measure_all(
    candidates: Sequence[Candidate],
    files_of: Callable[[Candidate], Files],
    machine: Machine,
    settings: Settings,
    done: Done,
    processes: Sequence[AbstractContextManager[MeasuringProcess]] = (),
    best: Best | None = None,
) -> None:
    """Run and time every candidate; `done` gets a row for each.

    Without `processes`, one for each of the machine's devices is started and ended.
    """
    known = best or Best()

    def measured(process: MeasuringProcess, candidate: Candidate) -> Row:
        return process.measured(candidate, files_of(candidate), known)

    devices = () if processes else machine.devices[: len(candidates)]
    own = [MeasuringProcess(machine, device, settings) for device in devices]
    share_out(candidates, processes or own, measured, done)


class MeasuringProcess:
    """One process on one device. What hangs or breaks it is a row, and a new one goes on."""

    def __init__(self, machine: Machine, device: str, settings: Settings) -> None:
        self.process = machine.bench()
        self.device = device
        self.settings = settings
        # The files whose contents the process has.
        self.loaded: Files | None = None

    def __enter__(self) -> MeasuringProcess:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.__exit__(*error)

    def measured(self, candidate: Candidate, files: Files, best: Best) -> Row:
        """The row of a candidate."""
        problem = self._made_ready(files)
        if problem is not None:
            return Row(candidate.config, "fails", reason=_first_line(problem["error"]))
        ends = time.monotonic() + self.settings.timeout
        own_check = self.settings.checks and self.settings.manual_check_prog is not None
        outputs = f"{files.inputs}.{self.device}.outputs" if own_check else ""
        answer = self._ask(
            {
                "do": "run",
                "path": str(candidate.path),
                "name": candidate.kernel.name,
                "config": {key: str(value) for key, value in candidate.config.items()},
                "stored": candidate.stored.stored,
                "outputs": outputs,
                "tolerance": _tolerance(self.settings),
            },
            ends,
        )
        if "error" in answer:
            return self._failed(candidate, answer)
        wrong = answer.get("wrong") or (files.verdict(outputs) if outputs else "")
        if wrong:
            return Row(candidate.config, "wrong", reason=wrong)
        error = answer.get("difference")
        answer = self._ask(self._timing(candidate, best), ends)
        if "error" in answer:
            return self._failed(candidate, answer)
        return self._timed(candidate, answer["latency"], best, error)

    def _timing(self, candidate: Candidate, best: Best) -> dict[str, Any]:
        return {
            "do": "time",
            "stored": candidate.stored.stored,
            "restored": candidate.stored.restored,
            "warmup": self.settings.warmup,
            "rep": self.settings.rep,
            "backend": self.settings.backend,
            "stop_above": self._limit(best),
        }

    def _timed(self, candidate: Candidate, latency: float, best: Best, error: float | None) -> Row:
        limit = self._limit(best)
        if limit is not None and latency > limit:
            return Row(candidate.config, "slow", latency, error=error)
        best.learn(latency)
        return Row(candidate.config, "measured", latency, error=error)

    def _limit(self, best: Best) -> float | None:
        if best.latency is None or not self.settings.early_stop:
            return None
        return best.latency * self.settings.early_stop_factor

    def _made_ready(self, files: Files) -> dict[str, Any] | None:
        """Start the process where there is none and give it the inputs; an error if it cannot."""
        if not self.process.is_running:
            self.loaded = None
            answer = self.process.ask({"do": "start", "device": self.device}, STARTING_SECONDS)
            if "error" in answer:
                return answer
        if self.loaded is not files:
            question = {"do": "load", "inputs": files.inputs, "expected": files.expected}
            answer = self.process.ask(question, STARTING_SECONDS)
            if "error" in answer:
                return answer
            self.loaded = files
        return None

    def _ask(self, question: Mapping[str, Any], ends: float) -> dict[str, Any]:
        return self.process.ask(question, max(ends - time.monotonic(), 0.001))

    def _failed(self, candidate: Candidate, answer: Mapping[str, Any]) -> Row:
        if answer.get("hung"):
            reason = f"did not end within {self.settings.timeout:g} s"
            return Row(candidate.config, "hangs", reason=reason)
        if answer.get("ended"):
            return Row(candidate.config, "crashes", reason=_first_line(answer["error"]))
        if answer.get("dead"):
            # After a fault of a kernel nothing runs in that process any more.
            self.process.stop()
            return Row(candidate.config, "crashes", reason=_first_line(answer["error"]))
        status = "too large" if "T2T401" in answer["error"] else "fails"
        return Row(candidate.config, status, reason=_first_line(answer["error"]))


def _tolerance(settings: Settings) -> tuple[float, float, float]:
    return settings.rtol, settings.atol, settings.max_mismatched_ratio


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]
