"""What `tile2triton check` found out about a script, as records."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from tile2triton.kernel_report import KernelReport


@dataclass(frozen=True)
class Problem:
    """A diagnostic that has come from another process; `text` is all of it."""

    code: str
    message: str
    file: str
    line: int
    text: str


@dataclass
class Kernel:
    """One kernel that the script made, with what became of it for each target."""

    name: str
    file: str
    line: int
    constants: dict[str, str] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    launches: int = 0
    # The emitted text, and why there is none, by target.
    paths: dict[str, str] = field(default_factory=dict)
    refused: dict[str, list[Problem]] = field(default_factory=dict)
    reports: list[KernelReport] = field(default_factory=list)
    erased: list[dict[str, Any]] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not any(self.refused.values()) and all(report.ok for report in self.reports)


@dataclass
class Refusal:
    """A kernel that was not made: no target has it."""

    name: str
    problems: list[Problem]

    @property
    def first(self) -> str:
        one = self.problems[0]
        return f"{one.code} {one.message} ({one.file}:{one.line})"


@dataclass
class Result:
    """A script's kernels, and how it ended.

    `how` is "finished", "exception", "refused", "package" or "timed out".
    """

    script: str
    targets: tuple[str, ...]
    kernels: list[Kernel]
    refusals: list[Refusal]
    how: str
    detail: str
    where: str
    traceback: str
    output: str
    absent: list[str]
    comparisons: int
    guesses: int
    guessed_at: list[str]
    # Programs that the script started and that nobody followed.
    unchecked: list[str]
    compiled: bool

    @property
    def ok(self) -> bool:
        """Whether there were kernels, all of them passed, and the script finished."""
        passed = bool(self.kernels) and all(kernel.ok for kernel in self.kernels)
        return self.how == "finished" and passed and not self.refusals

    def as_json(self) -> dict[str, Any]:
        """Everything, for machines."""
        fields = dataclasses.asdict(self)
        for kernel, record in zip(self.kernels, fields["kernels"], strict=True):
            record["ok"] = kernel.ok
            for report, row in zip(kernel.reports, record["reports"], strict=True):
                row["ok"] = report.ok
                row["text"] = report.problem.render() if report.problem else ""
        return {"ok": self.ok, **fields}
