"""Launch random kernels in Gluon many times, and look for hangs and wrong results.

    python -m benchmarks.hangs --launches 10000          on a GPU of sm_90
    python -m benchmarks.hangs --seed 17 --launches 50   the first shape of that seed
    python -m benchmarks.hangs --seconds 600             until then
    python -m benchmarks.hangs --simulate --launches 100 on the CPU, small shapes

Attention of random lengths, its derivatives, products of ragged shapes, scans over chunks, and
programs that tables steer, with random consumers and stages. Each shape has a process with a time
limit to itself, is compared with torch or plain Triton, and must have the same bits in each launch.
The exit status is 1 where one hangs, is wrong, or was written wrong and so left in plain Triton.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from benchmarks.hang_cases import Case, made
from benchmarks.pool import Outcome, Task, run_all
from tile2triton.simulation.check import FAULT
from tile2triton.simulation.machine import ProtocolError

# Seconds that a shape may take, most of which is compiling, or being simulated.
LIMIT = 120.0
SIMULATION_LIMIT = 600.0
# What is launched of one shape.
EACH = 50
TOLERANCE = 3e-3
FAILURES = ("hung", "died", "wrong", "broken")


@dataclass(frozen=True)
class Result:
    """What became of one shape: `how` is "right", "plain", "wrong" or "broken"."""

    what: str
    launches: int
    how: str
    why: str = ""


def main() -> int:
    arguments = parse()
    if not arguments.simulate and not has_gpu():
        print("benchmarks.hangs needs a GPU of sm_90, or --simulate", file=sys.stderr)
        return 2
    began, counts, launches = time.monotonic(), Counter[str](), 0
    for outcome in outcomes(arguments, began):
        result = outcome.value or lost(outcome, arguments.simulate)
        counts[result.how] += 1
        launches += result.launches
        if result.how not in ("right", "plain"):
            print(f"\n{result.how}: --seed {outcome.key}, {result.what}: {result.why}", flush=True)
        print(f"\r{counts.total()} shapes, {launches} launches", end="", flush=True)
        if launches >= arguments.launches:
            break
    print(f"\n{summary(counts, launches)}, {time.monotonic() - began:.0f} s")
    return int(any(counts[how] for how in FAILURES))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.hangs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--launches", type=int, default=1000, metavar="N", help="in all (1000)")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin none later")
    parser.add_argument("--seed", type=int, default=0, help="that of the first shape (0)")
    parser.add_argument("--simulate", action="store_true", help="on the CPU, without a GPU")
    parser.add_argument("--processes", type=int, default=1, help="how many shapes at once (1)")
    return parser.parse_args()


def has_gpu() -> bool:
    return bool(torch.cuda.is_available() and torch.cuda.get_device_capability() == (9, 0))


def outcomes(arguments: argparse.Namespace, began: float) -> Iterator[Outcome]:
    """A group of shapes at a time, as long as there is time; keys are their seeds."""
    each = min(2 if arguments.simulate else EACH, arguments.launches)
    limit = SIMULATION_LIMIT if arguments.simulate else LIMIT
    # Some are left in plain Triton, and are no launches.
    seeds = range(arguments.seed, arguments.seed + 4 * -(-arguments.launches // each))
    group = 8 * arguments.processes
    for at in range(0, len(seeds), group):
        if time.monotonic() - began > arguments.seconds:
            return
        tasks = [
            Task(seed, tried, (seed, each, arguments.simulate), limit)
            for seed in seeds[at : at + group]
        ]
        yield from run_all(tasks, arguments.processes)


def lost(outcome: Outcome, is_simulated: bool) -> Result:
    """A shape whose process was killed, or did not come so far as to compare."""
    seed = outcome.key
    assert isinstance(seed, int)
    if not outcome.error.startswith("no answer"):
        return Result("before it had a result", 0, "died", outcome.error)
    return Result(made(seed, "cpu", is_simulated).what, 0, "hung", outcome.error)


def tried(seed: int, launches: int, is_simulated: bool) -> Result:
    """Run the shape of a seed so many times."""
    case = made(seed, "cpu" if is_simulated else "cuda", is_simulated)
    faults = [one.detail for one in case.kernel.lowered_facts.hint_report if FAULT in one.detail]
    if faults:
        return Result(case.what, 0, "broken", faults[0])
    if "gluon.jit" not in case.kernel.triton_source:
        return Result(case.what, 0, "plain")
    try:
        return Result(case.what, launches, *judged(case, launches, is_simulated))
    except ProtocolError as error:
        return Result(case.what, launches, "broken", str(error))


def judged(case: Case, launches: int, is_simulated: bool) -> tuple[str, str]:
    """Whether all results are right, and those of a GPU have the same bits."""
    first: tuple[torch.Tensor, ...] = ()
    for number in range(launches):
        if is_simulated:
            found = case.simulate(is_eager=number % 2 == 0)
        else:
            found = case.launch()
        if is_simulated or not first:
            for at, (one, wanted) in enumerate(zip(found, case.wanted, strict=True)):
                if one is not None and (said := difference(one, wanted)):
                    return "wrong", f"launch {number}, output {at}: {said}"
        elif not all(torch.equal(*pair) for pair in zip(bits(found), bits(first), strict=True)):
            return "wrong", f"launch {number} has other bits than the first"
        first = found
    return "right", ""


def bits(found: tuple[torch.Tensor, ...]) -> list[torch.Tensor]:
    """Not a number is no other number than itself here."""
    return [one.nan_to_num() for one in found]


def difference(found: torch.Tensor, wanted: torch.Tensor) -> str:
    if not torch.equal(found.isnan(), wanted.isnan()):
        return f"{int(found.isnan().sum())} elements are nan, not {int(wanted.isnan().sum())}"
    exact = wanted.double().nan_to_num()
    error = float((found.double().nan_to_num() - exact).norm() / exact.norm().clamp(min=1e-6))
    return f"a relative error of {error:.2g}" if error > TOLERANCE else ""


def summary(counts: Counter[str], launches: int) -> str:
    """In one line."""
    said = f"{launches} launches of {counts['right']} shapes that are right"
    for how in FAILURES:
        said += f", {counts[how]} {how}"
    return f"{said}, {counts['plain']} left in plain Triton"


if __name__ == "__main__":
    sys.exit(main())
