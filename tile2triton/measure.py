"""How long a function takes on the GPU: `do_bench`, with the cache flushed before every run."""

from __future__ import annotations

import contextlib
import math
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

Result = TypeVar("Result")

# How each backend of TileLang's is met; the profiler's counters give what events give.
BACKENDS = {"event": "event", "cupti": "event", "cudagraph": "cudagraph"}
RETURN_MODES: dict[str, Callable[[Sequence[float]], float]] = {
    "min": min,
    "max": max,
    "mean": statistics.fmean,
    "median": statistics.median,
}
ESTIMATING_RUNS = 5
GRAPH_REPLAYS = 10


def do_bench(
    fn: Callable[[], object],
    warmup: float = 25,
    rep: float = 100,
    _n_warmup: int = 0,
    _n_repeat: int = 0,
    quantiles: Sequence[float] | None = None,
    fast_flush: bool = True,
    backend: Literal["event", "cupti", "cudagraph"] = "event",
    return_mode: Literal["min", "max", "mean", "median"] = "mean",
    device: Any = None,
    cache_size: int = 256,
    early_stop_baseline: float | None = None,
    prepare: Callable[[], object] | None = None,
) -> float | list[float]:
    """Milliseconds that `fn` takes: by `return_mode`, or a list for several `quantiles`.

    It runs for about `warmup` and then `rep` milliseconds, or as often as `_n_warmup` and
    `_n_repeat` say, each time after `prepare` and after the L2 cache was overwritten with
    `cache_size` MiB, neither of which counts. Where the first runs take longer than
    `early_stop_baseline`, their time is the result. `fast_flush` is accepted and changes nothing.
    Without a GPU, the wall clock is read. Raises ValueError for an unknown backend or mode.
    """
    if backend not in BACKENDS:
        raise ValueError(f"unknown backend {backend!r}; known are {', '.join(BACKENDS)}")
    if return_mode not in RETURN_MODES:
        raise ValueError(
            f"unknown return_mode {return_mode!r}; known are {', '.join(RETURN_MODES)}"
        )
    with _on(device) as has_gpu:
        clock = _GpuClock(cache_size) if has_gpu else _WallClock()
        before = prepare or _nothing
        before()
        fn()
        clock.wait()
        started = time.perf_counter()
        first = clock.times(fn, before, ESTIMATING_RUNS)
        # What a run costs here includes what is not counted, lest short kernels take for ever.
        whole = max((time.perf_counter() - started) / ESTIMATING_RUNS * 1e3, 1e-6)
        if early_stop_baseline is not None and statistics.median(first) > early_stop_baseline:
            return _summary(first, quantiles, return_mode)
        for _ in range(_n_warmup or max(1, int(warmup / whole))):
            before()
            fn()
        runs = _n_repeat or max(1, int(rep / whole))
        if has_gpu and BACKENDS[backend] == "cudagraph":
            times = clock.times_in_graph(fn, runs)
        else:
            times = clock.times(fn, before, runs)
    return _summary(times, quantiles, return_mode)


class _GpuClock:
    """Times of kernels by events on the current stream."""

    def __init__(self, megabytes: int) -> None:
        import torch

        self.torch = torch
        self.cache = torch.empty(megabytes * 2**20 // 4, dtype=torch.int32, device="cuda")

    def wait(self) -> None:
        self.torch.cuda.synchronize()

    def times(
        self, fn: Callable[[], object], before: Callable[[], object], runs: int
    ) -> list[float]:
        starts, ends = self._events(runs), self._events(runs)
        for start, end in zip(starts, ends, strict=True):
            before()
            self.cache.zero_()
            start.record()
            fn()
            end.record()
        self.wait()
        return [start.elapsed_time(end) for start, end in zip(starts, ends, strict=True)]

    def times_in_graph(self, fn: Callable[[], object], runs: int) -> list[float]:
        """The mean of `runs` launches in one graph, for each of some replays."""
        stream = self.torch.cuda.Stream()
        with self.torch.cuda.stream(stream):
            graph = self.torch.cuda.CUDAGraph()
            with self.torch.cuda.graph(graph, stream=stream):
                for _ in range(runs):
                    fn()
            whole = self.times(graph.replay, _nothing, GRAPH_REPLAYS)
        return [value / runs for value in whole]

    def _events(self, count: int) -> list[Any]:
        return [self.torch.cuda.Event(enable_timing=True) for _ in range(count)]


class _WallClock:
    """Times of what runs on the CPU, where there is no cache to flush and no graph."""

    def wait(self) -> None:
        """What runs on the CPU has ended when it returns."""

    def times(
        self, fn: Callable[[], object], before: Callable[[], object], runs: int
    ) -> list[float]:
        found = []
        for _ in range(runs):
            before()
            started = time.perf_counter()
            fn()
            found.append((time.perf_counter() - started) * 1e3)
        return found

    def times_in_graph(self, fn: Callable[[], object], runs: int) -> list[float]:
        return self.times(fn, _nothing, runs)


def quantile(times: Sequence[float], fraction: float) -> float:
    """The value below which that fraction of the times lies, between neighbours in proportion."""
    ordered = sorted(times)
    position = fraction * (len(ordered) - 1)
    low, high = ordered[math.floor(position)], ordered[math.ceil(position)]
    return low + (high - low) * (position - math.floor(position))


def _summary(
    times: Sequence[float], quantiles: Sequence[float] | None, return_mode: str
) -> float | list[float]:
    if quantiles is None:
        return RETURN_MODES[return_mode](times)
    values = [quantile(times, fraction) for fraction in quantiles]
    return values[0] if len(values) == 1 else values


@contextlib.contextmanager
def _on(device: Any) -> Any:
    """Whether there is a GPU; the chosen one is the current one inside."""
    import torch

    if not torch.cuda.is_available():
        yield False
        return
    with torch.cuda.device(device) if device is not None else contextlib.nullcontext():
        yield True


def _nothing() -> None:
    """Nothing has to be made ready before a run."""
