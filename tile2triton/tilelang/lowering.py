"""`tilelang.lower`: the kernel of a function; there is no CUDA text for callbacks."""

from __future__ import annotations

from typing import Any

from tile2triton.frontend.compiled import CompiledKernel
from tile2triton.tilelang.absent import Absent
from tile2triton.tilelang.jit import compile


def lower(
    func_or_mod: Any, target: Any = "auto", target_host: Any = None, **recorded: Any
) -> CompiledKernel:
    """The kernel of a `T.prim_func`: `kernel_source` is its Triton, `params` what it takes."""
    return compile(func_or_mod, target=target)


def _callback(name: str) -> Absent:
    return Absent(f"tilelang.{name}", "no C, CUDA or HIP text is made that it could change")


register_c_postproc = _callback("register_c_postproc")
register_cuda_postproc = _callback("register_cuda_postproc")
register_hip_postproc = _callback("register_hip_postproc")
register_cuda_postproc_callback = _callback("engine.callback.register_cuda_postproc_callback")
register_hip_postproc_callback = _callback("engine.callback.register_hip_postproc_callback")
