"""The process that runs and times candidates on one device; it may crash and it may hang.

It has its own copy of all inputs, so that nothing it runs reaches its caller's tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from tile2triton.measure import do_bench
from tile2triton.runtime import load
from tile2triton.tune.compare import (
    Tolerance,
    as_list,
    difference,
    relative_error,
    tensor_difference,
)
from tile2triton.worker_loop import answer_questions


class Bench:
    """One device, the inputs that are on it, and the candidate that was run last."""

    def __init__(self) -> None:
        self.device = torch.device("cpu")
        self.paths: dict[str, str] = {}
        self.inputs: list[Any] = []
        self.expected: dict[str, Any] = {}
        self.launcher: Callable[..., Any] | None = None

    def answer(self, question: dict[str, Any]) -> dict[str, Any]:
        """Do what the question's "do" says."""
        steps = {"start": self.start, "load": self.load, "run": self.run, "time": self.time}
        return steps[question["do"]](question)

    def start(self, question: dict[str, Any]) -> dict[str, Any]:
        """Make the device ready."""
        self.device = torch.device(question["device"])
        if self.device.type == "cuda":
            torch.cuda.set_device(self.device)
            torch.cuda.init()
        torch.zeros(1, device=self.device)
        return {}

    def load(self, question: dict[str, Any]) -> dict[str, Any]:
        """Take inputs, and what is expected of them, from files."""
        # Tensors on the device are let go before others come.
        self.launcher, self.inputs, self.expected = None, [], {}
        self.inputs = torch.load(question["inputs"], map_location=self.device)
        if question["expected"]:
            self.expected = torch.load(question["expected"], map_location=self.device)
        return {}

    def run(self, question: dict[str, Any]) -> dict[str, Any]:
        """The first run of a candidate: "wrong" says how it differs from what is expected."""
        path = Path(question["path"])
        self.launcher = load(path.read_text(encoding="utf-8"), question["name"])
        arguments = self._clones(question["stored"])
        try:
            outputs = as_list(self.launcher(*arguments))
            self._wait()
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}", "dead": not self._is_alive()}
        changed = {index: arguments[index] for index in question["stored"]}
        if question["outputs"]:
            torch.save(outputs, question["outputs"])
        elif self.expected:
            tolerance = Tolerance(*question["tolerance"])
            wrong = self._difference(outputs, changed, tolerance)
            compared = outputs or list(changed.values())
            return {"wrong": wrong, "difference": self._relative_error(compared)}
        return {}

    def time(self, question: dict[str, Any]) -> dict[str, Any]:
        """The candidate that was run last, timed."""
        assert self.launcher is not None, "a candidate is run before it is timed"
        launcher = self.launcher
        arguments = self._clones(question["stored"])

        def restore() -> None:
            for index in question["restored"]:
                arguments[index].copy_(self.inputs[index])

        latency = do_bench(
            lambda: launcher(*arguments),
            _n_warmup=question["warmup"],
            _n_repeat=question["rep"],
            backend=question["backend"],
            return_mode="median",
            early_stop_baseline=question["stop_above"],
            prepare=restore if question["restored"] else None,
        )
        return {"latency": latency}

    def _difference(self, outputs: list[Any], changed: dict[int, Any], tolerance: Tolerance) -> str:
        wanted = self.expected["outputs"]
        if wanted and not outputs:
            # What the reference returns, a kernel without outputs stores to its arguments.
            outputs = list(changed.values())
        said = difference(outputs, wanted, tolerance)
        for index, tensor in self.expected["changed"].items():
            if not said and index in changed:
                differs = tensor_difference(changed[index], tensor, tolerance)
                said = f"argument {index} afterwards: {differs}" if differs else ""
        return said

    def _relative_error(self, outputs: list[Any]) -> float | None:
        """How far the outputs are from what is expected, as a part of that."""
        found = [
            relative_error(one, wanted)
            for one, wanted in zip(outputs, self.expected["outputs"], strict=False)
            if one is not None and wanted is not None and one.shape == wanted.shape
        ]
        return max(found, default=None)

    def _clones(self, stored: list[int]) -> list[Any]:
        """The inputs, with copies of those that the candidate stores to."""
        return [
            value.clone() if index in stored and isinstance(value, torch.Tensor) else value
            for index, value in enumerate(self.inputs)
        ]

    def _wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def _is_alive(self) -> bool:
        """Whether the device still answers; after a fault of a kernel it does not."""
        try:
            self._wait()
        except RuntimeError:
            return False
        return True


if __name__ == "__main__":
    answer_questions(Bench().answer)
