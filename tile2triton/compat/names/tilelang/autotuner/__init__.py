"""`tilelang.autotuner`: search for the best parameters."""

from tile2triton.tune import AutoTuner, autotune, get_autotune_inputs, set_autotune_inputs

__all__ = [
    "AutoTuner",
    "autotune",
    "get_autotune_inputs",
    "set_autotune_inputs",
]
