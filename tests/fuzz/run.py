"""Run many random programs in several processes and report what differs."""

import argparse
import collections
import json
import multiprocessing
import os
import tempfile
import time
from pathlib import Path

from tests.fuzz.generate import program
from tests.fuzz.outcome import Outcome, outcome

TARGETS = ("cuda:90", "cuda:80", "hip:gfx942")


def main() -> int:
    options = _options()
    # Each program is run once, so its module need not outlive the run.
    os.environ.setdefault("TILE2TRITON_CACHE_DIR", tempfile.mkdtemp(prefix="fuzz-"))
    if options.emit:
        return _emit(Path(options.emit), range(options.seed, options.seed + options.count))
    started = time.perf_counter()
    counts: collections.Counter[str] = collections.Counter()
    reasons: collections.Counter[str] = collections.Counter()
    failed: list[tuple[int, str, str]] = []
    tasks = [(seed, options.device) for seed in range(options.seed, options.seed + options.count)]
    with multiprocessing.get_context("spawn").Pool(options.jobs, maxtasksperchild=500) as pool:
        for seed, kind, reason, detail in pool.imap_unordered(_task, tasks, chunksize=10):
            counts[kind] += 1
            if kind != "agree":
                reasons[f"{kind}: {reason}"] += 1
            if kind in ("crash", "differ"):
                failed.append((seed, reason, detail))
                print(f"seed {seed}: {kind}: {reason}\n{detail[-700:]}", flush=True)
    summary = {
        "device": options.device,
        "programs": options.count,
        "seconds": round(time.perf_counter() - started, 1),
        **dict(counts),
        "reasons": dict(reasons.most_common()),
        "failed": [seed for seed, _, _ in failed],
    }
    print(json.dumps(summary, indent=1))
    if options.shrink:
        from tests.fuzz.shrink import shrunk

        for seed, _, _ in failed[:20]:
            print(f"\n# seed {seed}\n{shrunk(program(seed), seed, options.device, target(seed))}")
    return 1 if failed else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description="Random tile programs: do their meanings agree?"
    )
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=1000, help="how many programs")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--shrink", action="store_true", help="print a least program per failure")
    parser.add_argument("--emit", metavar="DIR", help="write the programs to files and stop")
    return parser.parse_args()


def target(seed: int) -> str:
    return TARGETS[seed % len(TARGETS)]


def _task(task: tuple[int, str]) -> tuple[int, str, str, str]:
    seed, device = task
    try:
        found = outcome(program(seed), seed, device, target(seed) if device == "cpu" else "cuda:90")
    except Exception as error:  # one program must not end the run
        found = Outcome("crash", f"generator: {type(error).__name__}", repr(error))
    return seed, found.kind, found.reason, found.detail


def _emit(folder: Path, seeds: range) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        (folder / f"program_{seed}.py").write_text(program(seed))
    return 0
