"""What users call: `kernel`, `prim_func`, `compile`, `transpile`."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, overload

from tile2triton.diagnostics import ArgumentError, Diagnostic
from tile2triton.frontend.compiled import CompiledKernel
from tile2triton.frontend.eager import EagerKernel
from tile2triton.frontend.eager_declarations import uses_language, uses_whole_operands
from tile2triton.frontend.environment import capture
from tile2triton.frontend.factories import makes_kernels
from tile2triton.frontend.lazy import LazyKernel
from tile2triton.frontend.operand_kernel import OperandKernel
from tile2triton.frontend.options import Options, checked_options, resolved_target
from tile2triton.frontend.prim_func import PrimFunc
from tile2triton.schedule import Schedule, as_schedule, beside, scheduled
from tile2triton.schedule.tiles import with_tiles
from tile2triton.tune.autotune import AutotunedKernel, under_kernel

Kernel = LazyKernel | EagerKernel | OperandKernel
OutIdx = int | Sequence[int] | None


@overload
def kernel(function: Callable[..., Any]) -> Kernel: ...


@overload
def kernel(
    function: None = None,
    *,
    out_idx: OutIdx = None,
    target: str | None = None,
    schedule: Schedule | None = None,
    **recorded: Any,
) -> Callable[[Callable[..., Any]], Kernel]: ...


def kernel(
    function: Callable[..., Any] | None = None,
    *,
    out_idx: OutIdx = None,
    target: str | None = None,
    schedule: Schedule | None = None,
    **recorded: Any,
) -> Kernel | Callable[[Callable[..., Any]], Kernel]:
    """Make a function a kernel, or a factory of kernels where it returns a `T.prim_func`.

    `out_idx` numbers the parameters of the prim_func that are outputs: they are allocated and
    returned. `target` is such as "cuda:90"; without it, this machine's GPU. `schedule` is how it is
    run, beside what annotations below this one say. What TileLang's `jit`
    takes beside these (`pass_configs`, `verbose`, …) is kept on record and changes nothing, except
    that `pass_configs={"tl.disable_tma_lower": True}` keeps copies off TMA descriptors, and
    "tl.disable_wgmma" products off wgmma. Raises `ArgumentError` for any other option, and for what
    is no function.
    """
    frame = sys._getframe(1)
    options = checked_options(out_idx, target, recorded)
    if schedule is not None:
        options = dataclasses.replace(options, schedule=as_schedule(schedule))
    if function is None:
        return lambda function: make_kernel(function, options, frame)
    return make_kernel(function, options, frame)


jit = kernel


def make_kernel(function: Callable[..., Any], options: Options, frame: FrameType) -> Kernel:
    """The kernel, or factory of kernels, of a function that is decorated in `frame`."""
    if isinstance(function, (PrimFunc, Kernel)):
        message = f"`{function.__name__}` is a kernel already"
        hint = "leave out one decorator, or write tile2triton.compile(...)"
        raise ArgumentError(Diagnostic("T2T414", message, hint=hint))
    if isinstance(function, AutotunedKernel):
        raise under_kernel(function)
    whole = beside(scheduled(function), options.schedule)
    options = dataclasses.replace(options, schedule=whole)
    if options.schedule is not None:
        function = with_tiles(function, options.schedule)
    captured = capture(function, frame)
    if uses_language(captured):
        return EagerKernel(captured, options)
    is_factory = makes_kernels(captured.function, captured.values)
    if is_factory is False or (is_factory is None and uses_whole_operands(captured)):
        return OperandKernel(captured, options)
    program = OperandKernel(captured, options) if is_factory is None else None
    return LazyKernel(captured.function, options, program)


def compile(
    function: PrimFunc | Kernel,
    out_idx: OutIdx = None,
    target: str | None = None,
    **recorded: Any,
) -> CompiledKernel:
    """The kernel of a `T.prim_func`. Raises `TileError` with everything that is wrong with it."""
    if isinstance(function, PrimFunc):
        options = checked_options(out_idx, target, recorded)
        return CompiledKernel(function.program(options.out_idx or ()), options)
    _refuse_no_kernel(function)
    _refuse_options(function, out_idx, recorded)
    return transpile(function, target=target)


def transpile(
    function: PrimFunc | Kernel | AutotunedKernel,
    *arguments: Any,
    out_idx: OutIdx = None,
    target: str | None = None,
    **keywords: Any,
) -> CompiledKernel:
    """The kernel of any function of ours, for the parameters that it needs.

    `transpile(matmul, M=1024, N=1024, K=1024).triton_source` is the Triton of an eager kernel; a
    factory takes its own arguments, a `T.prim_func` takes none. Nothing is tuned.
    """
    if isinstance(function, AutotunedKernel):
        function = function.kernel
    if isinstance(function, PrimFunc):
        return compile(function, out_idx, target, **keywords)
    _refuse_no_kernel(function)
    _refuse_options(function, out_idx, {})
    chosen = function if target is None else _for_target(function, target)
    return chosen.compile(*arguments, **keywords)


def _for_target(function: Kernel, target: str) -> Kernel:
    """The same kernel for another target."""
    options = dataclasses.replace(function.options, target=resolved_target(target))
    if isinstance(function, EagerKernel):
        return EagerKernel(function.captured, options)
    if isinstance(function, OperandKernel):
        return OperandKernel(function.captured, options)
    return LazyKernel(function.function, options)


def _refuse_options(function: Kernel, out_idx: OutIdx, recorded: dict[str, Any]) -> None:
    """What a kernel was made with is not changed by compiling it."""
    names = [*(["out_idx"] if out_idx is not None else []), *recorded]
    if names:
        raise ArgumentError(
            Diagnostic(
                "T2T413",
                f"`{function.__name__}` has its options already, so `{names[0]}` is not taken",
                hint=f"write @tile2triton.kernel({names[0]}=...)",
            )
        )


def _refuse_no_kernel(value: object) -> None:
    if not isinstance(value, (PrimFunc, Kernel)):
        raise ArgumentError(
            Diagnostic(
                "T2T414",
                f"a kernel or a T.prim_func is compiled, not `{value!r}`",
                hint="write @tile2triton.kernel or @T.prim_func above a `def`",
            )
        )
