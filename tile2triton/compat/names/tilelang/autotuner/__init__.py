"""`tilelang.autotuner`: search for the best parameters."""

import importlib
from typing import Any

__all__ = ["AutoTuner", "autotune", "get_autotune_inputs", "set_autotune_inputs"]


def __getattr__(name: str) -> Any:
    """The tuner is imported when it is used."""
    if name in __all__:
        return getattr(importlib.import_module("tile2triton.tune"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
