"""What is asked of tuning, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tile2triton.diagnostics import Diagnostic, TileError
from tile2triton.frontend.compiled import CompiledKernel
from tile2triton.frontend.options import Options
from tile2triton.tune.candidates import Make, said, same_reason
from tile2triton.tune.configs import Config
from tile2triton.tune.report import Row, TuningReport
from tile2triton.tune.settings import Settings


class TuningError(TileError):
    """No configuration makes a kernel that runs and is right."""


@dataclass(frozen=True)
class Request:
    """What is to be tuned: configurations, and what makes a kernel of one.

    `function` is the user's, `arguments` are those that the kernel is made for; with the settings
    and the chip they are what a stored result is found by. `call` are the arguments of the kernel
    itself where it is being called.
    """

    function: Callable[..., Any]
    arguments: Mapping[str, Any]
    configs: tuple[Config, ...]
    make: Make
    settings: Settings
    options: Options
    call: tuple[Any, ...] | None = None
    # Not where the reference is the meaning in NumPy, whose time says nothing.
    times_reference: bool = True

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def verbose(self) -> bool:
        """Whether the report is printed."""
        return bool(dict(self.options.recorded).get("verbose"))


@dataclass(frozen=True)
class Tuned:
    """The best kernel; times are NaN and there is no report where nothing is measured."""

    kernel: CompiledKernel
    config: Config
    latency: float | None = None
    ref_latency: float | None = None
    report: TuningReport | None = None


def measured_by(report: TuningReport, kernel: CompiledKernel, config: Config) -> Tuned:
    """The kernel that a report names the best."""
    assert report.best is not None, "what is left over is an error"
    return Tuned(kernel, config, report.best.latency, report.ref_latency, report)


def nothing_left(report: TuningReport) -> TuningError:
    """The error of a report without a best."""
    return TuningError(
        Diagnostic(
            "T2T544",
            f"no configuration of `{report.name}` makes a kernel that runs and is right",
            found=tuple(str(report).splitlines()),
            hint="the reason stands below each configuration",
        )
    )


def nothing_made(
    name: str, chip: str, configs: Sequence[Config], refused: Mapping[int, Exception]
) -> TuningError:
    """The error where no configuration makes a kernel: their own, if they all have the same."""
    error = same_reason(refused.values())
    if isinstance(error, TileError):
        found = TuningError(*error.diagnostics)
    elif error is not None:
        found = TuningError(
            Diagnostic(
                "T2T544",
                f"no configuration of `{name}` makes a kernel, all for the same reason",
                found=(said(error),),
                hint="the function that makes the kernel raises it",
            )
        )
    else:
        rows = (Row(configs[at], "refused", reason=said(why)) for at, why in refused.items())
        return nothing_left(TuningReport(name, chip, tuple(rows)))
    found.__cause__ = error
    return found
