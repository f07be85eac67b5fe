"""A machine to tune on that needs no GPU: candidates are interpreted, faults happen on demand.

`IN_PROCESS` answers in this process; `IN_PROCESSES` starts this module, which computes nothing, so
that it starts at once: it hangs and crashes where a configuration's `fault` says so.
"""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from tile2triton.tune.machine import Machine
from tile2triton.worker_loop import answer_questions
from tile2triton.worker_process import WorkerProcess

Answer = Callable[[dict[str, Any]], dict[str, Any]]


class Inline:
    """A worker that neither crashes nor hangs: errors are answers."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.is_running = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def ask(self, question: Any, seconds: float) -> dict[str, Any]:
        self.is_running = True
        try:
            return self.answer(json.loads(json.dumps(question)))
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}", "messages": ""}

    def stop(self) -> None:
        self.is_running = False


def compiled(question: dict[str, Any]) -> dict[str, Any]:
    """A compiler that looks at one constant of the module."""
    found = re.search(r"^block = (\d+)", Path(question["path"]).read_text(), re.MULTILINE)
    block = int(found[1]) if found else 0
    if block == 512:
        raise RuntimeError("the compiler does not like 512")
    return {"shared memory": 10**6 if block == 1024 else 0, "tensor memory": 0}


def interpreting() -> Inline:
    """The product's bench on the CPU; a configuration's `pace` says how long it takes."""
    from tile2triton.tune.measure_worker import Bench

    bench = Bench()
    config: dict[str, str] = {}

    def answer(question: dict[str, Any]) -> dict[str, Any]:
        given = bench.answer(question)
        config.update(question.get("config", {}))
        if question["do"] == "run":
            _log(str(bench.device), question["config"])
        if question["do"] == "time" and "pace" in config:
            return {"latency": float(config["pace"])}
        return given

    return Inline(answer)


def pretending() -> Answer:
    """A bench that runs nothing."""
    config: dict[str, str] = {}

    def answer(question: dict[str, Any]) -> dict[str, Any]:
        if question["do"] == "run":
            config.clear()
            config.update(question["config"])
            _log("pretended", config)
        if config.get("fault") == f"hang in {question['do']}":
            time.sleep(1000)
        if config.get("fault") == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        if config.get("fault") == "dead" and question["do"] == "run":
            return {"error": "RuntimeError: an illegal memory access", "dead": True}
        return {"latency": float(config.get("pace", 1.0))}

    return answer


def rated(rate: Callable[[dict[str, str]], Any]) -> Inline:
    """A bench that runs nothing: `rate` says how long a configuration takes, or answers itself."""
    seen: dict[str, Any] = {}

    def answer(question: dict[str, Any]) -> dict[str, Any]:
        seen.update(question)
        if question["do"] not in ("run", "time"):
            return {}
        found = rate(seen["config"])
        if isinstance(found, dict):
            return found
        if question["do"] == "run":
            _log(seen["device"], question["config"])
            return {"wrong": "", "difference": 0.0}
        return {"latency": float(found)}

    return Inline(answer)


def _log(device: str, config: dict[str, str]) -> None:
    with Path(os.environ["TUNING_LOG"]).open("a") as log:
        log.write(f"{os.getpid()} {device} {config}\n")


IN_PROCESS = Machine(
    chip="pretended chip",
    target=("cuda", 90, 32),
    devices=("cpu",),
    compiler=lambda: Inline(compiled),
    bench=interpreting,
)
IN_PROCESSES = Machine(
    chip="pretended chip",
    target=("cuda", 90, 32),
    devices=("cpu",),
    compiler=lambda: Inline(compiled),
    bench=lambda: WorkerProcess("tests.tuning_machine", "running", "the process"),
    processes=2,
)


if __name__ == "__main__":
    answer_questions(pretending())
