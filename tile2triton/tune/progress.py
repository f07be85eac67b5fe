"""The progress bar of tuning, on standard error."""

from __future__ import annotations

from types import TracebackType
from typing import Any


class Progress:
    """One bar for each phase of tuning; it says the best so far."""

    def __init__(self, name: str, total: int) -> None:
        self.name = name
        self.total = total
        self.bar: Any = None
        self.best: float | None = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close()

    def phase(self, does: str, total: int | None = None) -> None:
        """Begin a bar: `does` is what is done with each configuration."""
        from tqdm import tqdm

        self._close()
        total = self.total if total is None else total
        self.bar = tqdm(total=total, desc=f"{self.name}: {does}", leave=False, unit="config")

    def advance(self, latency: float | None = None) -> None:
        """One configuration is done; it took `latency` milliseconds where it was timed."""
        if latency is not None and (self.best is None or latency < self.best):
            self.best = latency
            self.bar.set_postfix_str(f"best {latency:.4f} ms", refresh=False)
        self.bar.update()

    def _close(self) -> None:
        if self.bar is not None:
            self.bar.close()
