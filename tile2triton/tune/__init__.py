"""Tuning: the fastest configuration of a kernel on this machine, and what became of the others."""

from tile2triton.tune.autotune import AutotunedKernel, autotune
from tile2triton.tune.autotuner import AutoTuner, AutotuneResult
from tile2triton.tune.configs import ConfigError
from tile2triton.tune.inputs import get_autotune_inputs, set_autotune_inputs
from tile2triton.tune.report import Row, TuningReport
from tile2triton.tune.request import TuningError

__all__ = [
    "AutoTuner",
    "AutotuneResult",
    "AutotunedKernel",
    "ConfigError",
    "Row",
    "TuningError",
    "TuningReport",
    "autotune",
    "get_autotune_inputs",
    "set_autotune_inputs",
]
