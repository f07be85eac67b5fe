"""`tilelang.jit`, `compile` and `par_compile`: TileLang's options, checked, for our kernels."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tile2triton.api import Kernel, make_kernel
from tile2triton.diagnostics import ArgumentError, Diagnostic, TileError
from tile2triton.frontend.compiled import CompiledKernel
from tile2triton.frontend.options import Options, checked_options
from tile2triton.frontend.prim_func import PrimFunc
from tile2triton.tilelang.pass_configs import normalize_pass_configs, refuse_rounding
from tile2triton.tilelang.target import target_name

OutIdx = int | Sequence[int] | None
BACKENDS = ("auto", "tvm_ffi", "cython", "dlpack", "ctypes", "nvrtc", "torch", "cutedsl")


def jit(
    func: Callable[..., Any] | None = None,
    *,
    out_idx: OutIdx = None,
    target: Any = None,
    target_host: Any = None,
    execution_backend: str | None = None,
    verbose: bool | None = None,
    pass_configs: dict[Any, Any] | None = None,
    debug_root_path: str | None = None,
    compile_flags: Sequence[str] | str | None = None,
) -> Kernel | Callable[[Callable[..., Any]], Kernel]:
    """Make a function a kernel, or a factory of kernels where it returns a `T.prim_func`.

    How TileLang gets from a kernel to the GPU (`execution_backend`, `target_host`, `verbose`,
    `debug_root_path`) is accepted and changes nothing. Raises `ArgumentError` for a target that
    Triton does not have and for a pass config or compile flag that would change results.
    """
    frame = sys._getframe(1)
    options = translated_options(out_idx, target, execution_backend, pass_configs, compile_flags)
    if func is None:
        return lambda func: make_kernel(func, options, frame)
    return make_kernel(func, options, frame)


def compile(
    func: PrimFunc,
    out_idx: OutIdx = None,
    execution_backend: str | None = None,
    target: Any = None,
    target_host: Any = None,
    verbose: bool | None = None,
    pass_configs: dict[Any, Any] | None = None,
    compile_flags: Sequence[str] | str | None = None,
) -> CompiledKernel:
    """The kernel of a `T.prim_func`. Raises `TileError` with everything that is wrong with it."""
    options = translated_options(out_idx, target, execution_backend, pass_configs, compile_flags)
    if not isinstance(func, PrimFunc):
        raise ArgumentError(
            Diagnostic(
                "T2T504",
                f"`tilelang.compile` takes a T.prim_func, not `{func!r}`",
                hint="call the factory first, or write @tilelang.jit above it and call it",
            )
        )
    return CompiledKernel(func.program(options.out_idx or ()), options)


def par_compile(
    funcs: Iterable[PrimFunc],
    out_idx: OutIdx = None,
    execution_backend: str | None = None,
    target: Any = None,
    target_host: Any = None,
    verbose: bool | None = None,
    pass_configs: dict[Any, Any] | None = None,
    compile_flags: Sequence[str] | str | None = None,
    num_workers: int | None = None,
    ignore_error: bool = False,
) -> list[CompiledKernel | None]:
    """The kernels of several functions; with `ignore_error`, None for one that is wrong.

    They are made one after the other: transpiling takes milliseconds, and Triton compiles at the
    first launch.
    """
    return [
        attempted(
            lambda func=func: compile(  # type: ignore[misc]
                func, out_idx, execution_backend, target, None, None, pass_configs, compile_flags
            ),
            ignore_error,
        )
        for func in funcs
    ]


def attempted(make: Callable[[], CompiledKernel], ignore_error: bool) -> CompiledKernel | None:
    """What is made, or None where it is wrong and errors are to be ignored."""
    try:
        return make()
    except TileError:
        if not ignore_error:
            raise
        return None


def translated_options(
    out_idx: OutIdx,
    target: Any,
    execution_backend: str | None,
    pass_configs: dict[Any, Any] | None,
    compile_flags: Sequence[str] | str | None,
) -> Options:
    """Our options for TileLang's."""
    if execution_backend not in (None, *BACKENDS):
        raise ArgumentError(
            Diagnostic(
                "T2T504",
                f"there is no execution_backend {execution_backend!r}",
                hint=f"leave it out, or use one of {', '.join(BACKENDS)}",
            )
        )
    refuse_rounding(compile_flags)
    configs = normalize_pass_configs(pass_configs)
    recorded = {"pass_configs": configs} if configs else {}
    return checked_options(out_idx, target_name(target), recorded)
