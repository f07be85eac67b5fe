"""`tilelang`: the names that TileLang's users import, meaning tile2triton."""

import importlib

from tile2triton import __version__
from tile2triton.tilelang.logging import logger, set_log_level

from . import (
    analysis,
    autotuner,
    backend,
    carver,
    contrib,
    cpu,
    cuda,
    dtypes,
    engine,
    ir,
    language,
    layout,
    metal,
    profiler,
    rocm,
    testing,
    tileop,
    tools,
    transform,
    utils,
    webgpu,
)
from .autotuner import autotune
from .engine import (
    lower,
    register_c_postproc,
    register_cuda_postproc,
    register_hip_postproc,
)
from .env import disable_cache, enable_cache, env, is_cache_enabled
from .jit import JITKernel, compile, jit, par_compile
from .layout import Fragment, Layout
from .math import cdiv, next_power_of_2
from .profiler import Profiler
from .transform import PassConfigKey
from .utils import TensorSupplyType, deprecated

tvm = importlib.import_module("tvm")
DataType = tvm.DataType

__all__ = [
    "DataType",
    "Fragment",
    "JITKernel",
    "Layout",
    "PassConfigKey",
    "Profiler",
    "TensorSupplyType",
    "__version__",
    "analysis",
    "autotune",
    "autotuner",
    "backend",
    "carver",
    "cdiv",
    "compile",
    "contrib",
    "cpu",
    "cuda",
    "deprecated",
    "disable_cache",
    "dtypes",
    "enable_cache",
    "engine",
    "env",
    "ir",
    "is_cache_enabled",
    "jit",
    "language",
    "layout",
    "logger",
    "lower",
    "metal",
    "next_power_of_2",
    "par_compile",
    "profiler",
    "register_c_postproc",
    "register_cuda_postproc",
    "register_hip_postproc",
    "rocm",
    "set_log_level",
    "testing",
    "tileop",
    "tools",
    "transform",
    "tvm",
    "utils",
    "webgpu",
]
