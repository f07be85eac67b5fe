"""Measure tile2triton beside hand-written Triton, torch and TileLang, on one CUDA GPU.

    python -m benchmarks.run                      the workloads that the project promises speed for
    python -m benchmarks.run gemm softmax         all workloads with one of these words in the name
    python -m benchmarks.run all --json out.json
    python -m benchmarks.run --tune --part 1/4    search all configurations, keep the fastest
    python -m benchmarks.plot out.json out.png    a picture of it

Every contestant gets the same list of configurations, or of these the ones that `best.json` says
were the fastest on this chip; each configuration first runs once in a process of its own with a
time limit, which also fills Triton's cache. Then, a workload at a time: correctness on fresh random
data, a short measurement of each configuration, the same bits in repeated runs, and the medians of
the best ones in rounds, of small kernels as launched and in a CUDA graph. Shown are rates, how much
they are of the chip's most, and ratios of speed to the fastest hand-written Triton of the same run.
"""

import argparse
import importlib.metadata
import importlib.util
import json
import os
import platform
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
import triton

from benchmarks import best
from benchmarks.contest import Config, Workload
from benchmarks.measure import Row, first_run, measure
from benchmarks.pool import Outcome, Task, run_all
from benchmarks.roofline import part_of_peak
from benchmarks.workloads import MUST, WORKLOADS

COMPILE_LIMIT = 120.0
MEASURE_LIMIT = 180.0


def main() -> int:
    arguments = parse()
    if not torch.cuda.is_available():
        print("benchmarks.run needs a CUDA GPU", file=sys.stderr)
        return 2
    number, parts = arguments.part
    workloads = select(arguments.names)[number - 1 :: parts]
    if not workloads:
        print(f"no workload of that name; there are: {', '.join(WORKLOADS)}", file=sys.stderr)
        return 2
    began = time.monotonic()
    known = {} if arguments.tune else best.load(arguments.best).get(gpu(), {})
    running, failures = first_runs(workloads, kinds(arguments.tilelang), known)
    print(f"{len(running)} workloads compiled in {time.monotonic() - began:.0f} s", flush=True)
    result: dict[str, Any] = {"machine": machine(), "workloads": [], "failures": failures}
    for outcome in measured(running, arguments.quick):
        entry = summary(WORKLOADS[str(outcome.key)], outcome)
        result["workloads"].append(entry)
        print(table(entry), flush=True)
        # A run that is stopped leaves what it has measured.
        if arguments.json:
            arguments.json.write_text(json.dumps(result, indent=1) + "\n")
        if arguments.tune:
            best.save(arguments.best, gpu(), [entry])
    for failure in failures:
        print("failed: {workload}, {contestant} {config}: {error}".format(**failure))
    print(f"in all {time.monotonic() - began:.0f} s")
    return 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.run",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", help="words in the names of workloads, or `all`")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all figures to a file")
    parser.add_argument("--quick", action="store_true", help="one short round only")
    parser.add_argument(
        "--tune",
        action="store_true",
        help="try all configurations, and write the fastest to --best",
    )
    parser.add_argument("--best", type=Path, default=best.FILE, metavar="FILE", help="(best.json)")
    parser.add_argument(
        "--part", type=part, default=(1, 1), metavar="K/N", help="the K-th of N parts of these"
    )
    parser.add_argument("--tilelang", action="store_true", help="with TileLang, if it is installed")
    return parser.parse_args()


def part(text: str) -> tuple[int, int]:
    number, parts = (int(one) for one in text.split("/"))
    if not 1 <= number <= parts:
        raise ValueError(text)
    return number, parts


def select(names: list[str]) -> list[Workload]:
    if not names:
        return [WORKLOADS[name] for name in MUST]
    if "all" in names:
        return list(WORKLOADS.values())
    return [w for w in WORKLOADS.values() if any(name in w.name for name in names)]


def kinds(tilelang: bool) -> set[str]:
    if tilelang and importlib.util.find_spec("tilelang") is None:
        print("TileLang is not installed: measured without it", file=sys.stderr)
        tilelang = False
    return {"tile2triton", "triton", "torch"} | ({"tilelang"} if tilelang else set())


def first_runs(
    workloads: list[Workload], kinds: set[str], known: dict[str, dict[str, list[Config]]]
) -> tuple[dict[str, dict[str, list[Config]]], list[dict[str, Any]]]:
    """The configurations that run, by workload and contestant, and the failures."""
    arguments = [
        (workload.name, contestant.name, config)
        for workload in workloads
        for contestant in workload.contestants
        if contestant.kind in kinds
        for config in best.narrowed(
            contestant.configs, known.get(workload.name, {}).get(contestant.name, [])
        )
    ]
    tasks = [Task(index, first_run, row, COMPILE_LIMIT) for index, row in enumerate(arguments)]
    outcomes = run_all(tasks, processes=min(16, os.cpu_count() or 1))
    errors = {outcome.key: outcome.error for outcome in outcomes}
    running: dict[str, dict[str, list[Config]]] = defaultdict(lambda: defaultdict(list))
    failures: list[dict[str, Any]] = []
    for index, (workload, contestant, config) in enumerate(arguments):
        # A contestant without any configuration that runs still gets its row.
        running[workload][contestant] += [] if errors[index] else [config]
        if errors[index]:
            row = {"workload": workload, "contestant": contestant, "config": config}
            failures.append({**row, "error": errors[index]})
    return {name: dict(contestants) for name, contestants in running.items()}, failures


def measured(running: dict[str, dict[str, list[Config]]], quick: bool) -> Iterator[Outcome]:
    """What measuring each workload gave; without TileLang where it fails with it.

    TileLang's kernels run in the same process as the others, lest they see another chip's clock.
    """
    tasks = [
        Task(name, measure, (name, configs, quick), MEASURE_LIMIT)
        for name, configs in running.items()
    ]
    for outcome in run_all(tasks, processes=1):
        name = str(outcome.key)
        others = {one: found for one, found in running[name].items() if one != "tilelang"}
        if not outcome.error or len(others) == len(running[name]):
            yield outcome
            continue
        again = Task(name, measure, (name, others, quick), MEASURE_LIMIT)
        (without,) = run_all([again], processes=1)
        lost = Row("tilelang", "tilelang", excluded=f"with it: {outcome.error}")
        yield replace(without, value=[*(without.value or []), lost])


def summary(workload: Workload, outcome: Outcome) -> dict[str, Any]:
    """The rows of one workload, fastest first, with ratios to the best Triton by hand."""
    rows: list[Row] = outcome.value or []
    hand = [row for row in rows if row.kind == "triton" and row.milliseconds]
    entries = []
    for row in sorted(rows, key=lambda row: row.median if row.milliseconds else float("inf")):
        entry = asdict(row)
        if row.milliseconds:
            by_hand = [one.milliseconds for one in hand]
            entry |= figures(workload, row.milliseconds, by_hand)
        if row.graph:
            by_hand = [one.graph for one in hand if one.graph]
            entry["in graph"] = figures(workload, row.graph, by_hand)
        entries.append(entry)
    return {
        "workload": workload.name,
        "unit": workload.unit,
        "failed": outcome.error,
        "rows": entries,
    }


def figures(workload: Workload, times: list[float], by_hand: list[list[float]]) -> dict[str, Any]:
    """The median of a contestant's rounds, its rate, and its ratio to the best Triton by hand."""
    median = statistics.median(times)
    rate = workload.rate(median)
    peak = part_of_peak(rate, workload.bound, gpu())
    found = {"median": median, "rate": rate, "of peak": peak}
    if by_hand:
        fastest = min(by_hand, key=statistics.median)
        found["ratio"] = statistics.median(b / own for b, own in zip(fastest, times, strict=True))
    return found


def table(entry: dict[str, Any]) -> str:
    lines = [f"\n{entry['workload']} [{entry['unit']}] {entry['failed']}"]
    for row in entry["rows"]:
        config = " ".join(f"{name}={value}" for name, value in row["config"].items())
        if row["excluded"]:
            lines.append(f"  {row['contestant']:22} excluded: {row['excluded']}  {config}")
            continue
        said = in_words(row)
        if "in graph" in row:
            said += f" | graph{in_words(row['in graph'])}"
        said += f"  error {row['error']:.1e}"
        lines.append(f"  {row['contestant']:22}{said}  {config}")
    return "\n".join(lines)


def in_words(found: dict[str, Any]) -> str:
    """A time, its rate, how much that is of the chip's most, and its ratio."""
    ratio = f"{found['ratio']:6.3f}" if "ratio" in found else "     -"
    peak = "" if found["of peak"] is None else f" {100 * found['of peak']:3.0f} %"
    return f"{found['median']:9.4f} ms {found['rate']:8.1f}{peak} {ratio}"


def gpu() -> str:
    return torch.cuda.get_device_name() if torch.cuda.is_available() else ""


def machine() -> dict[str, Any]:
    packages = ("tile2triton", "triton", "torch", "tilelang")
    versions = {}
    for package in packages:
        if importlib.util.find_spec(package):
            try:
                versions[package] = importlib.metadata.version(package)
            except importlib.metadata.PackageNotFoundError:
                versions[package] = "source tree"
    return {
        "gpu": gpu(),
        "cuda": torch.version.cuda,
        "python": platform.python_version(),
        "triton_module": triton.__version__,
        "versions": versions,
        "command": ["python", "-m", "benchmarks.run", *sys.argv[1:]],
        "time": time.strftime("%Y-%m-%d %H:%M:%S %Z"),
    }


if __name__ == "__main__":
    sys.exit(main())
