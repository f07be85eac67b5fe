"""Programs for GPUs on a machine without one: their kernels are interpreted on the CPU."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from triton.runtime.driver import driver
from triton.runtime.jit import JITFunction

from tile2triton.interpreter.kernel import Kernel
from tile2triton.posing.devices import Devices, is_on_gpu, mark
from tile2triton.posing.driver import Driver
from tile2triton.posing.gpu import posing
from tile2triton.runtime import load
from tile2triton.targets import Target

Launcher = Callable[..., Any]


@contextmanager
def interpreting(gpu: Target) -> Iterator[None]:
    """Run what this thread runs as if there were a GPU of the target."""
    before = JITFunction.run, driver._active
    JITFunction.run = _run
    driver.set_active(Driver(gpu))
    try:
        with posing(gpu, REPLACED), Devices():
            yield
    finally:
        JITFunction.run, driver._active = before


class _Launching:
    """Whether a kernel is being launched, which is to see that there are CPUs only."""

    depth = 0

    def __enter__(self) -> None:
        self.depth += 1

    def __exit__(self, *_: object) -> None:
        self.depth -= 1


_launching = _Launching()


def _load(text: str, name: str, plain: Callable[[], str] | None = None) -> Launcher:
    """The launcher of an emitted module; what it makes is where its arguments are."""
    launcher = load(text, name, plain)

    @functools.wraps(launcher)
    def launch(*args: Any, **kwargs: Any) -> Any:
        with _launching, torch._C.DisableTorchFunction():
            result = launcher(*args, **kwargs)
        given = [x for x in (*args, *kwargs.values()) if isinstance(x, torch.Tensor)]
        if not given or any(map(is_on_gpu, given)):
            for one in result if isinstance(result, list) else (result,):
                if isinstance(one, torch.Tensor):
                    mark(one)
        return result

    return launch


def _run(self: Any, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> None:
    """Launch a Triton kernel of the program's own."""
    if not warmup:
        with torch._C.DisableTorchFunction():
            _interpreted(self).run(*args, grid=grid, **kwargs)


@functools.cache
def _interpreted(kernel: Any) -> Kernel:
    return Kernel(kernel.fn)


REPLACED = {
    "torch.cuda.is_available": lambda: not _launching.depth,
    "tile2triton.runtime.load": _load,
    # There is nothing to tune on.
    "tile2triton.tune.tuning.this_machine": lambda: None,
}
