"""What a repeated call costs on the host, beside `kernel[grid](...)` and the kernel's own `run`.

python -m benchmarks.launch_overhead
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import torch
from triton import JITFunction
from triton.tools.tensor_descriptor import TensorDescriptor

import tile2triton
import tile2triton.language as T
from benchmarks.workloads import gqa_decode as gqa

LENGTH = 1024
SIZE = 256
Call = Callable[[], object]


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


@tile2triton.kernel
def product(size, block=64):
    """C = A @ B through two TMA descriptors, which the host makes."""

    @T.prim_func
    def main(
        A: T.Tensor((size, size), T.float16),
        B: T.Tensor((size, size), T.float16),
        C: T.Tensor((size, size), T.float16),
    ):
        with T.Kernel(T.ceildiv(size, block), T.ceildiv(size, block), threads=128) as (bx, by):
            a = T.alloc_shared((block, block), T.float16)
            b = T.alloc_shared((block, block), T.float16)
            c = T.alloc_fragment((block, block), T.float32)
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(size, block), num_stages=2):
                T.copy(A[by * block, k * block], a)
                T.copy(B[k * block, bx * block], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * block, bx * block])

    return main


@tile2triton.kernel
def add_twice(length, block=1024):
    """D = A + B, then D += C: two launches."""

    @T.prim_func
    def main(
        A: T.Tensor((length,), T.float32),
        B: T.Tensor((length,), T.float32),
        C: T.Tensor((length,), T.float32),
        D: T.Tensor((length,), T.float32),
    ):
        with T.Kernel(T.ceildiv(length, block), threads=128) as bx:
            for i in T.Parallel(block):
                D[bx * block + i] = A[bx * block + i] + B[bx * block + i]
        with T.Kernel(T.ceildiv(length, block), threads=128) as bx:
            for i in T.Parallel(block):
                D[bx * block + i] = D[bx * block + i] + C[bx * block + i]

    return main


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.launch_overhead",
        description="Host time of a call against raw launches of the same kernel.",
    )
    parser.add_argument("--repeat", type=int, default=5000)
    repeat = parser.parse_args().repeat
    if not torch.cuda.is_available():
        print("benchmarks.launch_overhead needs a CUDA GPU", file=sys.stderr)
        return 2
    half = {"device": "cuda", "dtype": torch.float16}
    vectors = [torch.randn(LENGTH, device="cuda") for _ in range(4)]
    matrices = [torch.randn(SIZE, SIZE, **half) for _ in range(3)]
    decoded = gqa.inputs(1, 8192)
    total = sum(vectors[:3])
    cases: dict[str, tuple[Callable[..., Any], Sequence[torch.Tensor], torch.Tensor]] = {
        "four tensors": (add_three(LENGTH), vectors, total),
        "four whole operands": (add_operands, vectors, total),
        "two TMA descriptors": (product(SIZE), matrices, matrices[0] @ matrices[1]),
        "two launches": (add_twice(LENGTH), vectors, total),
        "decode, 3 outputs": (gqa.gqa_decode, decoded, gqa.reference(decoded).half()[None]),
    }
    titles = ("call", "kernel[grid]", "own run", "in a graph", "replayed")
    print(f"{'us on the host':24}" + "".join(f"{title:>14}" for title in titles))
    for name, (kernel, tensors, expected) in cases.items():
        print(f"{name:24}" + "".join(f"{x:14.2f}" for x in row(kernel, tensors, expected, repeat)))
    add = {"torch.add(out=)": lambda: torch.add(vectors[0], vectors[1], out=vectors[3])}
    print(f"{'torch.add(out=)':24}{host_times(add, repeat)['torch.add(out=)']:14.2f}")
    return 0


def row(
    kernel: Callable[..., Any], tensors: Sequence[torch.Tensor], expected: torch.Tensor, repeat: int
) -> list[float]:
    """The medians of one kernel, which returns its result or writes it to its last tensor."""

    def call() -> torch.Tensor:
        result = kernel(*tensors)
        return tensors[-1] if result is None else result

    check(call(), expected)
    launches = launches_of(call)
    times = host_times(
        {
            "call": lambda: kernel(*tensors),
            "kernel[grid]": lambda: [launch() for launch in launches["kernel[grid]"]],
            "own run": lambda: [launch() for launch in launches["own run"]],
        },
        repeat,
    )
    captured = 200
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        began = time.perf_counter_ns()
        for _ in range(captured):
            result = call()
        capturing = (time.perf_counter_ns() - began) / captured / 1e3
    result.zero_()
    graph.replay()
    check(result, expected)
    began = time.perf_counter_ns()
    graph.replay()
    torch.cuda.synchronize()
    return [*times.values(), capturing, (time.perf_counter_ns() - began) / captured / 1e3]


def check(result: torch.Tensor, expected: torch.Tensor) -> None:
    torch.testing.assert_close(result, expected, rtol=1e-2, atol=1e-2)


def launches_of(call: Call) -> dict[str, list[Call]]:
    """The launches that a call makes, with grid and arguments written down once."""
    launches: list[tuple[JITFunction, tuple[Any, ...], dict[str, Any], Any]] = []
    run = JITFunction.run

    def record(self: JITFunction, *arguments: Any, **options: Any) -> Any:
        compiled = run(self, *arguments, **options)
        launches.append((self, arguments, options, compiled))
        return compiled

    JITFunction.run = record
    try:
        call()
    finally:
        JITFunction.run = run
    found: dict[str, list[Call]] = {"kernel[grid]": [], "own run": []}
    for kernel, arguments, options, compiled in launches:
        grid = options.pop("grid")
        del options["warmup"]
        found["kernel[grid]"].append(again(kernel, grid, arguments, options))
        found["own run"].append(own_run(kernel, compiled, grid, arguments, options))
    return found


def again(
    kernel: JITFunction, grid: tuple[int, ...], arguments: tuple[Any, ...], options: dict[str, Any]
) -> Call:
    """Triton's launch; TMA descriptors are made for each, as in programs that allocate."""
    if not any(isinstance(one, TensorDescriptor) for one in arguments):
        return lambda: kernel[grid](*arguments, **options)

    def launch() -> object:
        made = [
            TensorDescriptor(one.base, one.shape, one.strides, one.block_shape)
            if isinstance(one, TensorDescriptor)
            else one
            for one in arguments
        ]
        return kernel[grid](*made, **options)

    return launch


def own_run(
    kernel: JITFunction,
    compiled: Any,
    grid: tuple[int, ...],
    arguments: tuple[Any, ...],
    options: dict[str, Any],
) -> Call:
    """What is left of a launch where nothing is looked up, and the stream is known."""
    named = dict(zip(kernel.arg_names, arguments, strict=False)) | options
    given = [named[key] for key in kernel.arg_names]
    first = (*grid, *(1,) * (3 - len(grid)), torch.cuda.current_stream().cuda_stream)
    first += (compiled.function, compiled.packed_metadata, None, None, None)
    launch = compiled.run
    return lambda: launch(*first, *given)


def host_times(calls: dict[str, Call], repeat: int) -> dict[str, float]:
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
