"""What happens on the GPU: a first run of each configuration, then checks, tuning and timing."""

import math
import statistics
from dataclasses import dataclass, field
from functools import partial

import torch
from torch import Tensor
from triton.testing import do_bench

from benchmarks.contest import (
    Call,
    Config,
    Contestant,
    Inputs,
    Workload,
    relative_error,
)
from benchmarks.workloads import WORKLOADS
from tile2triton.repeats import moving, results_of


@dataclass
class Row:
    """The result of one contestant; `milliseconds` are medians, one for each round."""

    contestant: str
    kind: str
    config: Config = field(default_factory=dict)
    error: float | None = None
    milliseconds: list[float] = field(default_factory=list)
    excluded: str = ""

    @property
    def median(self) -> float:
        return statistics.median(self.milliseconds)


def first_run(workload_name: str, contestant_name: str, config: Config) -> None:
    """Compile and run once, which also fills Triton's cache for `measure`."""
    workload = WORKLOADS[workload_name]
    contestant = next(c for c in workload.contestants if c.name == contestant_name)
    contestant.build(workload.inputs(), config)()
    torch.cuda.synchronize()


def measure(workload_name: str, configs: dict[str, list[Config]], quick: bool) -> list[Row]:
    """One row for each contestant that `configs` names, with its best configuration."""
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.seed()
    workload = WORKLOADS[workload_name]
    inputs = workload.inputs()
    expected = workload.reference(inputs)
    best = [
        tune(workload, contestant, configs[contestant.name], inputs, expected)
        for contestant in workload.contestants
        if contestant.name in configs
    ]
    # Rounds, because the clock moves: within a round all contestants see about the same chip.
    for _ in range(1 if quick else 3):
        for trial in best:
            if not trial.row.excluded:
                time = do_bench(trial.call, rep=30 if quick else 100, return_mode="median")
                trial.row.milliseconds.append(time)
    return [trial.row for trial in best]


# How many configurations of a contestant get a second look.
FINALISTS = 4
# How often a finalist is run again for its bits.
REPEATS = 20


@dataclass
class Trial:
    """One configuration: its row, the call to measure, and how long it took in tuning."""

    row: Row
    call: Call
    time: float = math.inf


def tune(
    workload: Workload,
    contestant: Contestant,
    configs: list[Config],
    inputs: Inputs,
    expected: Tensor,
) -> Trial:
    """The fastest configuration of those that compute the right thing.

    A short look at each picks the finalists; longer ones decide between them, in turns, as long as
    those that are reported: what is fast on a cool chip only need not be so later.
    """
    none = Row(contestant.name, contestant.kind, excluded="no configuration runs")
    failed = Trial(none, partial(workload.reference, inputs))
    trials = []
    for config in configs:
        row = Row(contestant.name, contestant.kind, config)
        trial = Trial(row, contestant.build(inputs, config))
        row.error = check(workload, trial.call, expected)
        if row.error <= workload.tolerance:
            trial.time = do_bench(trial.call, warmup=10, rep=20, return_mode="median")
        else:
            row.excluded = f"relative error {row.error:.1e} > {workload.tolerance:.0e}"
            failed = trial
        trials.append(trial)
    finalists = sorted((t for t in trials if t.time < math.inf), key=lambda t: t.time)[:FINALISTS]
    looks: list[list[float]] = [[] for _ in finalists]
    for _ in range(3):
        for trial, times in zip(finalists, looks, strict=True):
            times.append(do_bench(trial.call, rep=100, return_mode="median"))
    for trial, times in zip(finalists, looks, strict=True):
        trial.time = statistics.median(times)
    if workload.is_repeatable and contestant.kind in ("tile2triton", "triton"):
        for trial in finalists:
            moved = moving(trial.call, REPEATS)
            if moved:
                trial.row.excluded = f"{moved} of {REPEATS} runs differ: a race"
                failed = trial
        finalists = [trial for trial in finalists if not trial.row.excluded]
    return min(finalists, key=lambda t: t.time, default=failed)


def check(workload: Workload, call: Call, expected: Tensor) -> float:
    """The relative error; infinite where any element, also outside the part, is not finite."""
    output = call()
    if not all(torch.isfinite(one).all() for one in results_of(output)):
        return math.inf
    return relative_error(workload.part(output), expected)
