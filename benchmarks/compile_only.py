"""Let launchers compile their Triton kernels without a GPU, and see what came out."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from triton import JITFunction
from triton.backends.compiler import GPUTarget
from triton.runtime.driver import driver


class NoDevice:
    """What Triton asks of a driver before it compiles; it never gets as far as a launch."""

    def __init__(self, target: GPUTarget) -> None:
        self.target = target

    def get_current_target(self) -> GPUTarget:
        return self.target

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int) -> int:
        return 0


@contextmanager
def compile_only(target: GPUTarget | None = None) -> Iterator[list[Any]]:
    """Within it `kernel[grid](...)` compiles only; yields the list of compiled kernels."""
    compiled: list[Any] = []
    run = JITFunction.run
    active = driver._active

    def compile_instead(self: JITFunction, *args: Any, **options: Any) -> Any:
        kernel = run(self, *args, **{**options, "warmup": True})
        kernel = kernel.result() if hasattr(kernel, "result") else kernel
        compiled.append(kernel)
        return kernel

    driver.set_active(NoDevice(target or GPUTarget("cuda", 90, 32)))
    JITFunction.run = compile_instead
    try:
        yield compiled
    finally:
        JITFunction.run = run
        driver._active = active
