"""A GPU that poses as present: what `torch.cuda` says of it, for a target of the table."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import torch

from tile2triton.targets import Target

# What every time that is measured on such a GPU comes to.
MILLISECONDS = 1.0
_GIGABYTE = 1 << 30
_MISSING = object()
NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class Properties:
    """What `torch.cuda.get_device_properties` returns."""

    name: str
    major: int
    minor: int
    multi_processor_count: int
    total_memory: int
    warp_size: int
    shared_memory_per_block_optin: int
    gcnArchName: str
    shared_memory_per_block: int = 48 * 1024
    shared_memory_per_multiprocessor: int = 228 * 1024
    L2_cache_size: int = 50 * 1024 * 1024
    regs_per_multiprocessor: int = 65536
    max_threads_per_multi_processor: int = 2048
    is_integrated: bool = False
    is_multi_gpu_board: bool = False


# Multiprocessors and GiB of memory.
SIZES = {
    "cuda:80": (108, 80),
    "cuda:90": (132, 80),
    "cuda:100": (148, 192),
    "hip:gfx942": (304, 192),
    "hip:gfx950": (256, 288),
}


def properties(target: Target) -> Properties:
    """The properties of a target's GPU."""
    count, memory = SIZES[target.name]
    # ROCm gives the digits of the architecture: gfx942 is (9, 4).
    major, minor = divmod(target.arch, 10) if isinstance(target.arch, int) else (9, 4)
    if target.arch == "gfx950":
        minor = 5
    return Properties(
        name=target.label,
        major=major,
        minor=minor,
        multi_processor_count=count,
        total_memory=memory * _GIGABYTE,
        warp_size=target.warp_size,
        shared_memory_per_block_optin=target.shared_memory,
        gcnArchName=str(target.arch),
    )


class Event:
    """An event of a stream; any two are `MILLISECONDS` apart."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.cuda_event = 0

    def record(self, stream: Any = None) -> None: ...

    def wait(self, stream: Any = None) -> None: ...

    def synchronize(self) -> None: ...

    def query(self) -> bool:
        return True

    def elapsed_time(self, end: Any) -> float:
        return MILLISECONDS


class Stream:
    """A stream, on which nothing runs."""

    cuda_stream = 0
    stream_id = 0
    priority = 0
    device = torch.device("cuda", 0)

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def synchronize(self) -> None: ...

    def query(self) -> bool:
        return True

    def wait_event(self, event: Any) -> None: ...

    def wait_stream(self, stream: Any) -> None: ...

    def record_event(self, event: Any = None) -> Any:
        return event or Event()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None: ...


class Nowhere:
    """A context that changes nothing: a device, a stream, a graph's capture."""

    def __init__(self, *_: Any, **__: Any) -> None: ...

    def __enter__(self) -> Nowhere:
        return self

    def __exit__(self, *_: object) -> None: ...


class Profile(Nowhere):
    """A profiler that has seen nothing."""

    def key_averages(self, *_: Any, **__: Any) -> Profile:
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def table(self, *_: Any, **__: Any) -> str:
        return ""

    def step(self) -> None: ...

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def export_chrome_trace(self, path: str) -> None: ...


class Graph:
    """A CUDA graph; what is captured runs once, as shapes."""

    def replay(self) -> None: ...

    def reset(self) -> None: ...

    def pool(self) -> tuple[int, int]:
        return (0, 0)


@contextlib.contextmanager
def posing(target: Target, more: Mapping[str, Any] = NOTHING) -> Iterator[None]:
    """Make torch answer as a machine with one GPU of this target does.

    `more` names other things to replace meanwhile.
    """
    replaced: list[tuple[Any, str, Any]] = []
    try:
        for path, value in {**_replacements(target), **more}.items():
            owner_path, _, name = path.rpartition(".")
            owner = _owner(owner_path)
            if owner is None:
                continue
            replaced.append((owner, name, vars(owner).get(name, _MISSING)))
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, before in reversed(replaced):
            if before is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, before)


def _owner(path: str) -> Any:
    """A module, or a class in one; None where this installation lacks the module."""
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError:
        module, _, name = path.rpartition(".")
        return getattr(importlib.import_module(module), name, None) if module else None


def _replacements(target: Target) -> dict[str, Any]:
    gpu = properties(target)
    is_hip = target.backend == "hip"
    stream = Stream()
    return {
        "torch.version.cuda": None if is_hip else "13.0",
        "torch.version.hip": "7.0.0" if is_hip else None,
        "torch.cuda.is_available": lambda: True,
        "torch.cuda.is_initialized": lambda: True,
        "torch.cuda.init": _nothing,
        "torch.cuda._lazy_init": _nothing,
        "torch.cuda.device_count": lambda: 1,
        "torch.cuda.current_device": lambda: 0,
        "torch.cuda.set_device": _nothing,
        "torch.cuda.device": Nowhere,
        "torch.cuda.get_device_capability": lambda device=None: (gpu.major, gpu.minor),
        "torch.cuda.get_device_name": lambda device=None: gpu.name,
        "torch.cuda.get_device_properties": lambda device=None: gpu,
        "torch.cuda.is_bf16_supported": lambda *_, **__: True,
        "torch.cuda.synchronize": _nothing,
        "torch.cuda.empty_cache": _nothing,
        "torch.cuda.ipc_collect": _nothing,
        "torch.cuda.manual_seed": _nothing,
        "torch.cuda.manual_seed_all": _nothing,
        "torch.cuda.memory_allocated": lambda *_, **__: 0,
        "torch.cuda.max_memory_allocated": lambda *_, **__: 0,
        "torch.cuda.memory_reserved": lambda *_, **__: 0,
        "torch.cuda.max_memory_reserved": lambda *_, **__: 0,
        "torch.cuda.reset_peak_memory_stats": _nothing,
        "torch.cuda.mem_get_info": lambda *_, **__: (gpu.total_memory, gpu.total_memory),
        "torch.cuda.Event": Event,
        "torch.cuda.Stream": Stream,
        "torch.cuda.stream": Nowhere,
        "torch.cuda.current_stream": lambda device=None: stream,
        "torch.cuda.default_stream": lambda device=None: stream,
        "torch.cuda.is_current_stream_capturing": lambda: False,
        "torch.cuda.CUDAGraph": Graph,
        "torch.cuda.graph": Nowhere,
        "torch.cuda.profiler.start": _nothing,
        "torch.cuda.profiler.stop": _nothing,
        "torch.cuda.nvtx.range_push": _nothing,
        "torch.cuda.nvtx.range_pop": _nothing,
        "torch.cuda.nvtx.range_start": lambda *_, **__: 0,
        "torch.cuda.nvtx.range_end": _nothing,
        "torch.Generator": Generator,
        "torch.profiler.profile": Profile,
        "torch.compile": _as_it_is,
        "tile2triton.measure.do_bench": do_bench,
        "triton.testing.do_bench": do_bench,
        "triton.testing.do_bench_cudagraph": do_bench,
    }


OPTIONS = frozenset(
    "warmup rep _n_warmup _n_repeat n_warmup n_repeat grad_to_none fast_flush backend device "
    "cache_size early_stop_baseline prepare input_tensors".split()
)


def do_bench(
    fn: Any, *given: Any, quantiles: Any = None, return_mode: str = "mean", **named: Any
) -> Any:
    """Call `fn` once, so that its kernels are seen; every time is `MILLISECONDS`.

    What is no option of any `do_bench`, tensors first of all, goes to `fn`.
    """
    if any(isinstance(value, torch.Tensor) for value in given):
        fn(*given, **{key: value for key, value in named.items() if key not in OPTIONS})
    else:
        fn()
    if quantiles:
        return MILLISECONDS if len(quantiles) == 1 else [MILLISECONDS for _ in quantiles]
    return [MILLISECONDS] if return_mode == "all" else MILLISECONDS


def _nothing(*_: Any, **__: Any) -> None: ...


class Generator(torch.Generator):  # type: ignore[misc]
    """Random numbers come from the CPU."""

    def __new__(cls, device: Any = None) -> Generator:
        made: Generator = super().__new__(cls)
        return made


def _as_it_is(model: Any = None, **_: Any) -> Any:
    """`torch.compile` changes no shape."""
    return (lambda decorated: decorated) if model is None else model
