"""Run many random programs in processes of their own and report what differs."""

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.fuzz.generate import program
from tests.fuzz.outcome import Judge, Outcome, outcome
from tile2triton.family import Family

TARGETS = ("cuda:90", "cuda:80", "hip:gfx942")
# Programs that one process runs, and the seconds that it has for each.
CHUNK = 100
SECONDS = {"cpu": 60, "cuda": 120}


def main() -> int:
    options = _options()
    # Each program is run once, so its module need not outlive the run.
    os.environ.setdefault("TILE2TRITON_CACHE_DIR", tempfile.mkdtemp(prefix="fuzz-"))
    seeds = range(options.seed, options.seed + options.count)
    if options.emit:
        return _emit(Path(options.emit), seeds)
    if options.worker:
        return _work(seeds, options.device, options.compile)
    started = time.perf_counter()
    counts: collections.Counter[str] = collections.Counter()
    reasons: collections.Counter[str] = collections.Counter()
    failed: list[int] = []
    for row in _rows(seeds, options):
        counts[row["kind"]] += 1
        if row["kind"] != "agree":
            reasons[f"{row['kind']}: {row['reason']}"] += 1
        if row["kind"] in ("crash", "differ"):
            failed.append(row["seed"])
            print(f"seed {row['seed']}: {row['kind']}: {row['reason']}\n{row['detail']}\n")
            sys.stdout.flush()
    summary = {
        "device": options.compile or options.device,
        "programs": sum(counts.values()),
        "seconds": round(time.perf_counter() - started, 1),
        **counts,
        "reasons": dict(reasons.most_common()),
        "failed": sorted(failed),
    }
    print(json.dumps(summary, indent=1))
    if options.shrink:
        from tests.fuzz.shrink import shrunk

        for seed in sorted(failed)[:20]:
            least = shrunk(program(seed), _judge(seed, options.device, options.compile))
            print(f"\n# seed {seed}\n{least}", flush=True)
    return 1 if failed else 0


def target(seed: int, device: str = "cpu") -> str:
    return TARGETS[seed % len(TARGETS)] if device == "cpu" else "cuda:90"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description="Random tile programs: do their meanings agree?"
    )
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=1000, help="how many programs")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument(
        "--compile", metavar="TARGET", help="compile for this target, which need not be there"
    )
    parser.add_argument("--shrink", action="store_true", help="print a least program per failure")
    parser.add_argument("--emit", metavar="DIR", help="write the programs to files and stop")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def _rows(seeds: range, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """What came of each program, as its process tells."""
    chunks = [seeds[at : at + CHUNK] for at in range(0, len(seeds), CHUNK)]
    with ThreadPoolExecutor(options.jobs) as pool:
        for rows in pool.map(lambda chunk: list(_survived(chunk, options)), chunks):
            yield from rows


def _survived(seeds: range, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Run a chunk; a program that takes its process along costs no other its result."""
    while seeds:
        command = [sys.executable, "-m", "tests.fuzz", "--worker", "--device", options.device]
        command += ["--compile", options.compile] if options.compile else []
        command += ["--seed", str(seeds.start), "--count", str(len(seeds))]
        limit = SECONDS[options.device] + 10 * len(seeds)
        pipe = subprocess.PIPE
        with Family(command, os.environ, stdout=pipe, stderr=pipe, text=True) as family:
            try:
                text, said = family.process.communicate(timeout=limit)
                end = f"ended with {family.process.returncode}: {said[-600:]}"
            except subprocess.TimeoutExpired:
                family.kill()
                text, end = family.process.communicate()[0], "hung"
        rows = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        yield from rows
        seeds = seeds[len(rows) :]
        if seeds and not (rows and "CUDA error" in rows[-1]["detail"]):
            reason = "process died" if end != "hung" else end
            yield {"seed": seeds[0], "kind": "crash", "reason": reason, "detail": end}
            seeds = seeds[1:]


def _judge(seed: int, device: str, compile_target: str | None) -> Judge:
    """What says what comes of a program: it is compiled, or it is run."""
    if compile_target is None:
        return lambda text: outcome(text, seed, device, target(seed, device))
    from tests.fuzz.compiling import compiler

    return compiler(compile_target).outcome


def _work(seeds: range, device: str, compile_target: str | None) -> int:
    """Judge programs here, a line of JSON for each."""
    for seed in seeds:
        try:
            found = _judge(seed, device, compile_target)(program(seed))
        except Exception as error:  # one program must not end the run
            found = Outcome("crash", f"generator: {type(error).__name__}", repr(error))
        row = {"seed": seed, "kind": found.kind, "reason": found.reason}
        print(json.dumps({**row, "detail": found.detail[-700:]}), flush=True)
        if "CUDA error" in found.detail:
            # Nothing works in this process any more.
            return 1
    return 0


def _emit(folder: Path, seeds: range) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        (folder / f"program_{seed}.py").write_text(program(seed))
    return 0
