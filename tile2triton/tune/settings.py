"""How candidates are measured and checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tile2triton.supply import TensorSupplyType


@dataclass(frozen=True)
class Settings:
    """`warmup` and `rep` count runs, `timeout` is in seconds for each candidate.

    With `early_stop`, what takes longer than the best by `early_stop_factor` in its first runs is
    not timed further.
    """

    warmup: int = 25
    rep: int = 100
    timeout: float = 100
    supply_type: TensorSupplyType = TensorSupplyType.Auto
    ref_prog: Callable[..., Any] | None = None
    supply_prog: Callable[..., Any] | None = None
    rtol: float = 1e-2
    atol: float = 1e-2
    max_mismatched_ratio: float = 0.01
    skip_check: bool = False
    manual_check_prog: Callable[..., Any] | None = None
    cache_input_tensors: bool = False
    early_stop: bool = False
    early_stop_factor: float = 2.0
    backend: str = "event"

    @property
    def checks(self) -> bool:
        return self.ref_prog is not None and not self.skip_check
