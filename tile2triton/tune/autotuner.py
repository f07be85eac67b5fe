"""`AutoTuner`: tuning without a decorator, step by step, as TileLang has it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from tile2triton.diagnostics import at_span
from tile2triton.frontend.compiled import CompiledKernel
from tile2triton.frontend.eager import EagerKernel
from tile2triton.frontend.environment import capture
from tile2triton.frontend.lazy import LazyKernel
from tile2triton.frontend.options import Options, checked_options
from tile2triton.frontend.positions import Position, here
from tile2triton.tune.configs import (
    PASS_CONFIGS,
    Config,
    ConfigError,
    ConfigSource,
    check_names,
    configurations,
)
from tile2triton.tune.report import TuningReport
from tile2triton.tune.request import Request, Tuned
from tile2triton.tune.settings import Settings
from tile2triton.tune.tuning import tune

Kernel = LazyKernel | EagerKernel


@dataclass(frozen=True)
class AutotuneResult:
    """The best configuration and its kernel; times are in milliseconds, NaN without a GPU."""

    kernel: CompiledKernel
    config: Config
    latency: float | None
    ref_latency: float | None
    report: TuningReport | None

    @property
    def libcode(self) -> str:
        """The Triton source, by TileLang's name for it."""
        return self.kernel.triton_source


class AutoTuner:
    """Tunes a factory: `AutoTuner.from_kernel(kernel, configs).set_profile_args(...).run()`."""

    def __init__(self, fn: Callable[..., Any] | Kernel, configs: ConfigSource = ()) -> None:
        self.written = here()
        self.configs = configs
        self.settings = Settings()
        self.kernel = fn if isinstance(fn, Kernel) else _factory(fn)

    @classmethod
    def from_kernel(cls, kernel: Callable[..., Any] | Kernel, configs: ConfigSource = ()) -> Self:
        """A tuner of a factory: a function that takes what configurations set."""
        return cls(kernel, configs)

    def set_compile_args(
        self,
        out_idx: int | Sequence[int] | None = None,
        target: str | None = None,
        execution_backend: str | None = None,
        target_host: str | None = None,
        verbose: bool | None = None,
        pass_configs: Mapping[Any, Any] | None = None,
    ) -> Self:
        """How kernels are made: the options of `tile2triton.kernel`."""
        recorded = {
            "execution_backend": execution_backend,
            "target_host": target_host,
            "verbose": verbose,
            "pass_configs": pass_configs,
        }
        given = {name: value for name, value in recorded.items() if value is not None}
        self.kernel = with_options(self.kernel, checked_options(out_idx, target, given))
        return self

    def set_profile_args(self, **settings: Any) -> Self:
        """How candidates are checked and timed: the fields of `Settings`."""
        self.settings = changed_settings(self.settings, settings, here())
        return self

    def run(
        self,
        warmup: int = 25,
        rep: int = 100,
        timeout: float = 180,
        use_pipeline: bool = False,
        enable_grouped_compile: bool = False,
        group_compile_size: int = 2,
        benchmark_devices: Sequence[int] | None = None,
        benchmark_multi_gpu: bool = False,
        early_stop: bool = False,
        early_stop_factor: float = 2.0,
    ) -> AutotuneResult:
        """Try all configurations. All GPUs that are alike share the work.

        How TileLang shares it out (`use_pipeline`, `enable_grouped_compile`, `group_compile_size`,
        `benchmark_devices`, `benchmark_multi_gpu`) is accepted and changes nothing.
        """
        chosen = {
            "warmup": warmup,
            "rep": rep,
            "timeout": timeout,
            "early_stop": early_stop,
            "early_stop_factor": early_stop_factor,
        }
        settings = changed_settings(self.settings, chosen, here())
        configs = configurations(self.configs, (), {}, self.written)
        check_names(configs, self.kernel.signature, self.kernel.__name__, self.written)
        tuned = tune(request_of(self.kernel, configs, settings, (), {}))
        return AutotuneResult(
            tuned.kernel, tuned.config, tuned.latency, tuned.ref_latency, tuned.report
        )

    def __call__(self) -> AutotuneResult:
        return self.run()


def request_of(
    kernel: Kernel,
    configs: tuple[Config, ...],
    settings: Settings,
    arguments: Sequence[Any],
    keywords: Mapping[str, Any],
    call: tuple[Any, ...] | None = None,
) -> Request:
    """What tuning needs to know to try configurations of a kernel with these arguments."""

    def make(config: Config) -> CompiledKernel:
        return made_with(kernel, config, arguments, keywords)

    function = kernel.captured.function if isinstance(kernel, EagerKernel) else kernel.function
    given = {"arguments": tuple(arguments), **keywords}
    return Request(function, given, configs, make, settings, kernel.options, call)


def made_with(
    kernel: Kernel, config: Config, arguments: Sequence[Any], keywords: Mapping[str, Any]
) -> CompiledKernel:
    """The kernel for these arguments and a configuration, which may add pass configs."""
    parameters = {name: value for name, value in config.items() if name != PASS_CONFIGS}
    passes = config.get(PASS_CONFIGS)
    if passes:
        kernel = with_options(kernel, _with_passes(kernel.options, passes))
    return kernel.compile(*arguments, **{**keywords, **parameters})


def set_results(tuned: Tuned) -> CompiledKernel:
    """The kernel, which knows from now on what tuning found."""
    kernel = tuned.kernel
    kernel.config = dict(tuned.config)
    kernel.latency = tuned.latency
    kernel.ref_latency = tuned.ref_latency
    kernel.tuning_report = tuned.report
    return kernel


def with_options(kernel: Kernel, options: Options) -> Kernel:
    """The same kernel with other options."""
    if isinstance(kernel, EagerKernel):
        return EagerKernel(kernel.captured, options)
    return LazyKernel(kernel.function, options)


def changed_settings(settings: Settings, changes: Mapping[str, Any], written: Position) -> Settings:
    """The settings with some changed. Raises `ConfigError` for those that make no sense."""
    known = [field.name for field in dataclasses.fields(Settings)]
    for name in changes:
        if name not in known:
            raise _wrong(f"there is no option `{name}`", f"use one of {', '.join(known)}", written)
    result = dataclasses.replace(settings, **changes)
    if result.early_stop_factor < 1:
        raise _wrong(
            f"early_stop_factor must be 1 or more, but is {result.early_stop_factor}",
            "2.0 leaves what takes twice as long as the best so far",
            written,
        )
    if result.manual_check_prog is not None and result.ref_prog is None:
        raise _wrong(
            "manual_check_prog compares with a reference, but there is no ref_prog",
            "give ref_prog, which gets the kernel's inputs",
            written,
        )
    return result


def _with_passes(options: Options, passes: Mapping[Any, Any]) -> Options:
    recorded = dict(options.recorded)
    recorded["pass_configs"] = {**(recorded.get("pass_configs") or {}), **passes}
    return dataclasses.replace(options, recorded=tuple(sorted(recorded.items())))


def _factory(function: Callable[..., Any]) -> LazyKernel:
    return LazyKernel(capture(function).function, Options())


def _wrong(message: str, hint: str, written: Position) -> ConfigError:
    return ConfigError(at_span(written.filename, written.span, "T2T545", message, hint=hint))
