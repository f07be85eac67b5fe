"""The process that compiles candidates, so that Triton finds them on disk when they are launched.

The emitted launcher itself runs, on tensors without memory, so that Triton is asked for exactly
what a launch will ask for; the kernels compile and do not run. No GPU is touched.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from triton.backends.compiler import GPUTarget
from triton.runtime import driver
from triton.runtime.jit import JITFunction

from tile2triton.runtime import import_module
from tile2triton.worker_loop import answer_questions


class _Device:
    """The one thing that compiling asks a driver for: which GPU it is."""

    def __init__(self, target: GPUTarget) -> None:
        self.target = target

    def get_current_target(self) -> GPUTarget:
        return self.target

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return 0

    def get_active_torch_device(self) -> Any:
        return torch.device("meta")


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """Compile every kernel that a launcher launches; how much they take of the chip."""
    driver.set_active(_Device(GPUTarget(*question["target"])))
    path = Path(question["path"])
    module = import_module(path.read_text(encoding="utf-8"), path)
    compiled: list[Any] = []
    for value in vars(module).values():
        if isinstance(value, JITFunction):
            _only_compile(value, compiled)
    getattr(module, question["name"])(*map(_argument, question["arguments"]))
    metadata = [kernel.metadata for kernel in compiled]
    return {
        "shared memory": max((one.shared for one in metadata), default=0),
        # Only back ends with tensor memory say how much they take, and not for every kernel.
        "tensor memory": max((getattr(one, "tmem_size", None) or 0 for one in metadata), default=0),
    }


def _only_compile(kernel: Any, compiled: list[Any]) -> None:
    run = kernel.run

    def compile_kernel(*arguments: Any, grid: Any, warmup: bool, **options: Any) -> Any:
        made = run(*arguments, grid=grid, warmup=True, **options)
        compiled.append(made)
        return made

    kernel.run = compile_kernel


def _argument(given: Any) -> Any:
    """A number as it is; a tensor as one of the same kind that has no memory."""
    if not isinstance(given, dict):
        return given
    return torch.empty_strided(
        given["shape"], given["stride"], dtype=getattr(torch, given["dtype"]), device="meta"
    )


if __name__ == "__main__":
    answer_questions(answer)
