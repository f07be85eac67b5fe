"""What became of every configuration, as rows, and the best of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# Every status, and what it says of a configuration.
STATUSES = {
    "measured": "ran, was right where that was checked, and was timed",
    "slow": "was left after its first runs, since it is far slower than the best",
    "refused": "is no kernel",
    "does not compile": "Triton could not compile it",
    "too large": "needs more of the chip than there is",
    "fails": "ended with an error when it ran",
    "crashes": "ended the process that ran it",
    "hangs": "did not end within the time limit",
    "wrong": "gave other numbers than the reference",
}


@dataclass(frozen=True)
class Row:
    """One configuration: what became of it, its milliseconds where it has some, and why not."""

    config: Mapping[str, Any]
    status: str
    latency: float | None = None
    reason: str = ""
    # The relative norm of what it is off by, where that was compared.
    error: float | None = None

    @property
    def is_measured(self) -> bool:
        return self.status == "measured"


def repeated(config: Mapping[str, Any], first: Row) -> Row:
    """The row of a configuration that is the same kernel as an earlier one."""
    reason = f"is the same kernel as {described(first.config) or 'the program as it is'}"
    return dataclasses.replace(first, config=config, reason=reason)


@dataclass(frozen=True)
class TuningReport:
    """All rows, in the order of the configurations. Printing it shows the fastest first."""

    name: str
    chip: str
    rows: tuple[Row, ...]
    ref_latency: float | None = None
    # Whether it was read from disk rather than measured by this process.
    is_stored: bool = field(default=False, compare=False)

    @property
    def best(self) -> Row | None:
        """The fastest that was measured; of equals, the first."""
        measured = [row for row in self.rows if row.is_measured]
        return min(measured, key=lambda row: row.latency or 0.0) if measured else None

    def __str__(self) -> str:
        counts = {status: sum(row.status == status for row in self.rows) for status in STATUSES}
        found = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
        lines = [f"{self.name} on {self.chip}: {found}"]
        if self.ref_latency is not None:
            lines.append(f"the reference takes {self.ref_latency:.4f} ms")
        return "\n".join([*lines, *_table(self.rows)])


def _table(rows: Sequence[Row]) -> list[str]:
    """One line a row: what was timed in the order of its times, then the others."""
    ordered = sorted(rows, key=lambda row: (not row.is_measured, row.latency or 0.0))
    times = ["" if row.latency is None else f"{row.latency:.4f}" for row in ordered]
    width = max(len(text) for text in ("ms", *times))
    wide = max(len(text) for text in ("status", *(row.status for row in ordered)))
    lines = [f"{'ms':>{width}}  {'status':<{wide}}  config"]
    for row, time in zip(ordered, times, strict=True):
        lines.append(f"{time:>{width}}  {row.status:<{wide}}  {described(row.config)}".rstrip())
        lines += [" " * (width + wide + 4) + line for line in row.reason.splitlines()]
    return lines


def described(config: Mapping[str, Any]) -> str:
    """A configuration as keyword arguments, to be pasted into a call."""
    return ", ".join(f"{name}={value!r}" for name, value in config.items())
