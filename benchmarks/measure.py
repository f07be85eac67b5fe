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
    Output,
    Workload,
    relative_error,
)
from benchmarks.pool import context_works
from benchmarks.workloads import WORKLOADS
from tile2triton.repeats import moving, results_of


@dataclass
class Row:
    """The result of one contestant; times are medians, one for each round.

    `milliseconds` are as launched, `graph` in a CUDA graph. `finalists` are the configurations that
    were the fastest, of which `config` is the first.
    """

    contestant: str
    kind: str
    config: Config = field(default_factory=dict)
    error: float | None = None
    milliseconds: list[float] = field(default_factory=list)
    graph: list[float] = field(default_factory=list)
    finalists: list[Config] = field(default_factory=list)
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
            if trial.row.excluded:
                continue
            rep = 30 if quick else 100
            trial.row.milliseconds.append(do_bench(trial.call, rep=rep, return_mode="median"))
            if trial.replay:
                trial.row.graph.append(do_bench(trial.replay, rep=rep, return_mode="median"))
    return [trial.row for trial in best]


# How many configurations of a contestant get a second look.
FINALISTS = 4
# How often a finalist is run again for its bits.
REPEATS = 20


@dataclass
class Trial:
    """One configuration: its row, the call to measure, and how long it took in tuning.

    `replay` runs it from a CUDA graph, where it is small and can be captured.
    """

    row: Row
    call: Call
    time: float = math.inf
    replay: Call | None = None

    def look(self, rep: int) -> float:
        """A short measurement, of the GPU's own time where there is a graph."""
        return do_bench(self.replay or self.call, warmup=rep // 4, rep=rep, return_mode="median")


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
        trial = tried(workload, contestant, config, inputs, expected)
        if trial.row.excluded:
            failed = trial
        else:
            trial.time = trial.look(20)
        trials.append(trial)
    finalists = sorted((t for t in trials if t.time < math.inf), key=lambda t: t.time)[:FINALISTS]
    looks: list[list[float]] = [[] for _ in finalists]
    for _ in range(3):
        for trial, times in zip(finalists, looks, strict=True):
            times.append(trial.look(100))
    for trial, times in zip(finalists, looks, strict=True):
        trial.time = statistics.median(times)
    if workload.is_repeatable and contestant.kind in ("tile2triton", "triton"):
        for trial in finalists:
            moved = moving(trial.call, REPEATS)
            if moved:
                trial.row.excluded = f"{moved} of {REPEATS} runs differ: a race"
                failed = trial
        finalists = [trial for trial in finalists if not trial.row.excluded]
    finalists.sort(key=lambda t: t.time)
    best = finalists[0] if finalists else failed
    best.row.finalists = [trial.row.config for trial in finalists]
    return best


def tried(
    workload: Workload, contestant: Contestant, config: Config, inputs: Inputs, expected: Tensor
) -> Trial:
    """A configuration, checked; what goes wrong with it is said in its row.

    An error that leaves the GPU's context unusable ends the process, which is another's to say.
    """
    row = Row(contestant.name, contestant.kind, config)
    trial = Trial(row, partial(workload.reference, inputs))
    try:
        trial.call = contestant.build(inputs, config)
        row.error = check(workload, trial.call, expected)
        if row.error <= workload.tolerance and workload.is_small:
            trial.replay = in_graph(trial.call)
            if trial.replay:
                row.error = max(row.error, check(workload, trial.replay, expected))
    except Exception as error:
        if not context_works():
            raise
        row.excluded = f"{type(error).__name__}: {error}".split("\n", maxsplit=1)[0][:200]
        return trial
    if row.error > workload.tolerance:
        row.excluded = f"relative error {row.error:.1e} > {workload.tolerance:.0e}"
    return trial


def in_graph(call: Call) -> Call | None:
    """The call as a CUDA graph, which gives the same output each time; None if it cannot be one."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.stream(stream):
            call()
            with torch.cuda.graph(graph, stream=stream):
                output = call()
    # Some libraries launch on a stream of their own, or wait for the GPU, and say so in their ways.
    except Exception:
        return None
    torch.cuda.current_stream().wait_stream(stream)
    # What is found there later must come from the replay.
    for one in results_of(output):
        one.fill_(math.nan if one.is_floating_point() else -1)

    def replay() -> Output:
        graph.replay()
        return output

    return replay


def check(workload: Workload, call: Call, expected: Tensor) -> float:
    """The relative error; infinite where any element, also outside the part, is not finite."""
    output = call()
    if not all(torch.isfinite(one).all() for one in results_of(output)):
        return math.inf
    return relative_error(workload.part(output), expected)
