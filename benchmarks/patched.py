"""Measure which patches of compiled code pay, each beside Triton's own code, on one CUDA GPU.

    python -m benchmarks.patched                  all kernels
    python -m benchmarks.patched GEMM attention   those with one of these words in the name
    python -m benchmarks.patched --json out.json

Each kernel first runs in a process of its own with a time limit, without patches and with each set
of them. Those that ran are then run 100 times each: every result must be the bits of the first one
(one that moves is a race) and close to the reference. Times are medians, in rounds.
"""

import argparse
import json
import statistics
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from tqdm import tqdm
from triton.testing import do_bench

from benchmarks.contest import relative_error
from benchmarks.patched_cases import BY_NAME, CASES, Case
from benchmarks.pool import Task, run_all
from tests.patched import asked, emitted
from tile2triton.repeats import moving
from tile2triton.runtime import load

STOCK = "Triton's own"
REPEATS = 100
ROUNDS = 3


@dataclass
class Row:
    """One variant of a kernel. `moved` counts the repeats whose bits differ from the first."""

    case: str
    variant: str
    error: float | None = None
    moved: int = 0
    milliseconds: list[float] = field(default_factory=list)
    rate: float = 0.0
    excluded: str = ""

    @property
    def median(self) -> float:
        return statistics.median(self.milliseconds)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("words", nargs="*", help="only kernels with one of these in the name")
    parser.add_argument("--json", type=Path, help="write the rows to this file")
    parser.add_argument("--processes", type=int, default=8, help="how many compile at once")
    options = parser.parse_args()
    chosen = [
        case
        for case in CASES
        if not options.words or any(word.lower() in case.name.lower() for word in options.words)
    ]
    rows = list(measured(chosen, options.processes))
    if options.json:
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")


def measured(cases: Sequence[Case], processes: int) -> list[Row]:
    """The rows of all cases; each case is shown when it is done."""
    planned = [(case.name, name) for case in cases for name in (STOCK, *case.variants)]
    firsts = [Task(key, first_run, key, limit=150) for key in planned]
    failed: dict[Any, str] = {}
    with tqdm(total=len(firsts), desc="first runs", mininterval=1) as progress:
        for outcome in run_all(firsts, processes):
            failed[outcome.key] = outcome.error or outcome.value
            progress.update()
    rows: list[Row] = []
    for case in cases:
        good = [name for name in (STOCK, *case.variants) if not failed[case.name, name]]
        task = Task(case.name, measure, (case.name, good), limit=200)
        (outcome,) = run_all([task], 1)
        found = {row.variant: row for row in outcome.value or ()}
        for name in (STOCK, *case.variants):
            reason = failed[case.name, name] or outcome.error
            rows.append(found.get(name) or Row(case.name, name, excluded=reason))
        print(table([row for row in rows if row.case == case.name]), flush=True)
    return rows


def launcher(case: Case, variant: str) -> Callable[..., Tensor]:
    """The kernel with the patches of a variant only."""
    kernel = case.kernel()
    text, facts = emitted(kernel, asked(kernel, *case.variants.get(variant, ())))
    return load(text, facts.name)


def first_run(name: str, variant: str) -> str:
    """Compile and run once; says which patch was not applied."""
    case = BY_NAME[name]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        launcher(case, variant)(*case.inputs())
        torch.cuda.synchronize()
    said = [str(one.message) for one in caught if "not applied" in str(one.message)]
    return said[0] if said else ""


def measure(name: str, variants: Sequence[str]) -> list[Row]:
    torch.backends.cuda.matmul.allow_tf32 = False
    case = BY_NAME[name]
    torch.manual_seed(0)
    inputs = case.inputs()
    expected = case.reference(inputs)
    calls = {variant: launcher(case, variant) for variant in variants}
    rows = {variant: Row(name, variant) for variant in variants}
    for variant, call in calls.items():
        row = rows[variant]
        row.error = relative_error(case.part(call(*inputs)), expected)
        row.moved = moving(partial(call, *inputs), REPEATS)
        if row.error > case.tolerance or row.moved:
            row.excluded = f"wrong: error {row.error:.1e}, {row.moved} of {REPEATS} moved"
    for _ in range(ROUNDS):
        for variant, call in calls.items():
            if not rows[variant].excluded:
                time = do_bench(lambda call=call: call(*inputs), rep=100, return_mode="median")
                rows[variant].milliseconds.append(time)
    for row in rows.values():
        if row.milliseconds:
            row.rate = case.work / (row.median * 1e-3) / 1e12
    return list(rows.values())


def table(rows: Sequence[Row]) -> str:
    """A case's rows, with the ratio of speed to Triton's own code."""
    own = next((row for row in rows if row.variant == STOCK and row.milliseconds), None)
    lines = [f"\n{rows[0].case}"]
    for row in rows:
        if row.excluded:
            lines.append(f"  {row.variant:26} {row.excluded}")
            continue
        ratio = own.median / row.median if own else float("nan")
        lines.append(
            f"  {row.variant:26} {row.median:9.4f} ms {row.rate:8.1f} TFLOP/s {ratio:6.3f}"
            f"  error {row.error:.1e}, {row.moved} of {REPEATS} moved"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
