"""What a repeated call costs on the host, beside `kernel[grid](...)` of the same emitted kernel.

python -m benchmarks.launch_overhead
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from triton import JITFunction

import tile2triton
import tile2triton.language as T

LENGTH = 1024


@tile2triton.kernel
def add_three(length, block=1024):
    """D = A + B + C: four tensors, next to no work."""

    @T.prim_func
    def main(
        A: T.Tensor((length,), T.float32),
        B: T.Tensor((length,), T.float32),
        C: T.Tensor((length,), T.float32),
        D: T.Tensor((length,), T.float32),
    ):
        with T.Kernel(T.ceildiv(length, block), threads=128) as bx:
            for i in T.Parallel(block):
                D[bx * block + i] = A[bx * block + i] + B[bx * block + i] + C[bx * block + i]

    return main


@tile2triton.kernel
def add_operands(A, B, C, D):
    """The same on whole operands, whose kernel is looked up by shapes and types."""
    T.atomic_update(D, A + B + C)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.launch_overhead",
        description="Host time of a call against a raw launch of the same kernel.",
    )
    parser.add_argument("--repeat", type=int, default=5000)
    repeat = parser.parse_args().repeat
    if not torch.cuda.is_available():
        print("benchmarks.launch_overhead needs a CUDA GPU", file=sys.stderr)
        return 2
    tensors = [torch.randn(LENGTH, device="cuda") for _ in range(4)]
    kernel = add_three(LENGTH)
    calls = {
        "tile2triton": lambda: kernel(*tensors),
        "on whole operands": lambda: add_operands(*tensors),
        "kernel[grid](...)": raw_launch(lambda: kernel(*tensors)),
        "torch.add(out=)": lambda: torch.add(tensors[0], tensors[1], out=tensors[3]),
    }
    medians = host_times(calls, repeat)
    for name, microseconds in medians.items():
        print(f"{name:20} {microseconds:7.2f} us")
    difference = medians["tile2triton"] - medians["kernel[grid](...)"]
    print(f"a call costs {difference:+.2f} us against the raw launch")
    return 0


def raw_launch(call: Callable[[], object]) -> Callable[[], object]:
    """The launch that `call` makes, with its grid and arguments written down once."""
    launches: list[tuple[JITFunction, tuple[Any, ...], dict[str, Any]]] = []
    run = JITFunction.run

    def record(self: JITFunction, *arguments: Any, **options: Any) -> Any:
        launches.append((self, arguments, options))
        return run(self, *arguments, **options)

    JITFunction.run = record
    try:
        call()
    finally:
        JITFunction.run = run
    ((kernel, arguments, options),) = launches
    grid = options.pop("grid")
    del options["warmup"]
    return lambda: kernel[grid](*arguments, **options)


def host_times(calls: dict[str, Callable[[], object]], repeat: int) -> dict[str, float]:
    """Medians in microseconds, in turns; the queue is emptied often, so no call waits for it."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeat // 50 + 1):
        for name, call in calls.items():
            call()
            torch.cuda.synchronize()
            for _ in range(50):
                began = time.perf_counter_ns()
                call()
                times[name].append((time.perf_counter_ns() - began) / 1e3)
            torch.cuda.synchronize()
    return {name: statistics.median(values) for name, values in times.items()}


if __name__ == "__main__":
    sys.exit(main())
