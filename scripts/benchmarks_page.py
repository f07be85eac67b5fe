"""Writes docs/benchmarks.md: how to run and read the benchmarks, what they hold, what was found."""

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.contest import Workload
from benchmarks.count_lines import PAIRS, TILES, TRITON, count
from benchmarks.workloads import MUST, WORKLOADS

# What `python -m benchmarks.run --json` wrote on the machine whose figures are shown.
REPORT = Path(__file__).parent.parent / "benchmarks/report.json"
KINDS = {"tile2triton": "tile2triton", "torch": "vendor or torch", "tilelang": "TileLang"}
INTRODUCTION = """\
# The benchmarks

{made}

```sh
python -m benchmarks.run                            # what must be fast: {must} workloads
python -m benchmarks.run softmax top-k              # workloads with one of these words in the name
python -m benchmarks.run all --json report.json     # every workload, all figures as JSON
python -m benchmarks.run --tilelang                 # with TileLang, where it is installed
python -m benchmarks.plot report.json picture.png   # a picture of the ratios
python -m benchmarks.count_lines                    # lines of the tile programs and by hand
python -m benchmarks.hangs --launches 10000         # random kernels in Gluon: hangs, wrong results
tile2triton bench FILE:KERNEL --against OTHER.py    # a kernel of yours beside a function of yours
```

A CUDA GPU must be there (`benchmarks.hangs --simulate` needs none). Each workload has contestants:
tile programs of `tests/kernels`, Triton by hand of `benchmarks/handwritten`, torch with the
vendor's libraries, and TileLang, which runs the same file of a tile program with its own import in
place of ours.

1. Every configuration of every contestant first runs in a process that may hang or crash, with a
   time limit, as many at once as there are processors: it costs a line of the report, no more.
2. Then one process measures a workload. Each configuration must be right on fresh random data,
   within the workload's tolerance of a reference in fp32, before it is timed.
3. The fastest few are timed again, and those of tile2triton and by hand must give the same bits in
   20 runs: one that does not is excluded as a race.
4. The best configuration of each contestant is timed in three rounds, in which the contestants take
   turns, since the chip's clock moves. A time is the median, and before each run the cache is
   flushed.

What is small (decoding, softmax, norms, sums, top-k, products of few rows) may take longer to
launch than to run. It is timed as launched and in a CUDA graph, whose result is checked, too; its
configurations are chosen by the graph.

A line of the table is: contestant, milliseconds, rate, the rate's part of the chip's most by its
data sheet, speed relative to the fastest Triton by hand of the same run, the same from a graph,
relative error, configuration.

## Which configurations

`--tune` tries all that are listed, and keeps the two fastest of each contestant under the chip's
name in a file, `benchmarks/best.json` or that of `--best`; a run without it tries these only. Of a
contestant that the file does not know, all are tried. `--part 1/4` takes the first of four parts of
the list, for machines that are lent for minutes. Reports and the file are written after each
workload, so that a run that is stopped leaves what it has found.

## The workloads
"""


def page(made: str) -> str:
    parts = [INTRODUCTION.format(made=made, must=len(MUST)), workloads_table(), lines_section()]
    if REPORT.exists():
        parts.append(results_section(json.loads(REPORT.read_text())))
    return "\n".join(parts)


def workloads_table() -> str:
    """A row for each file of workloads; what must be fast is in bold."""
    files: dict[str, list[Workload]] = {}
    for workload in WORKLOADS.values():
        files.setdefault(_module(workload), []).append(workload)
    lines = ["| what | workloads | contestants |", "|---|---|---|"]
    for module, workloads in files.items():
        what = (sys.modules[module].__doc__ or "").strip().rstrip(".")
        names = ", ".join(f"**{w.name}**" if w.name in MUST else w.name for w in workloads)
        contestants = dict.fromkeys(c.name for w in workloads for c in w.contestants)
        lines.append(f"| {what} | {names} | {', '.join(contestants)} |")
    return "\n".join(lines) + "\n"


def _module(workload: Workload) -> str:
    """The module of `benchmarks.workloads` that holds the workload."""
    return next(
        name
        for name, module in sys.modules.items()
        if name.startswith("benchmarks.workloads.") and workload in getattr(module, "WORKLOADS", ())
    )


def lines_section() -> str:
    lines = ["## Lines", "", "Of the kernel, its helpers and its launcher, without comments."]
    lines += ["An algorithm has several rows where it is written in several ways: in TileLang's"]
    lines += ["language, with [tiles as values](guide.md#tiles-as-values), or on"]
    lines += ["[whole operands](whole_operands.md). One of them has at most 60 % of the lines."]
    lines += ["", "| kernel | tile program | Triton by hand | share |", "|---|--:|--:|--:|"]
    for pair in PAIRS:
        tile = count(TILES / f"{pair.tile_file}.py", pair.tile_functions)
        hand = count(TRITON / f"{pair.hand_file}.py", pair.hand_functions)
        lines.append(f"| {pair.name} | {tile} | {hand} | {tile / hand:.0%} |")
    return "\n".join(lines) + "\n"


def results_section(report: dict[str, Any]) -> str:
    """The best contestant of each kind beside the best Triton by hand, which is 1."""
    machine = report["machine"]
    lines = ["## Measured", "", f"{machine['gpu']}, Triton {machine['triton_module']},"]
    lines += [f"{machine['time']}: `{' '.join(machine['command'])}`. Speed relative to the best"]
    lines += ["Triton by hand of the run; small kernels have a second line, from a CUDA graph.", ""]
    lines += ["| workload | Triton by hand | " + " | ".join(KINDS.values()) + " | of the chip |"]
    lines += ["|---|--:|" + "--:|" * (len(KINDS) + 1)]
    for entry in report["workloads"]:
        rows = [row for row in entry["rows"] if row["milliseconds"]]
        lines += _result(f"{entry['workload']}, {entry['unit']}", rows)
        graphs = [{"kind": row["kind"], **row["in graph"]} for row in rows if "in graph" in row]
        lines += _result("in a graph", graphs)
    return "\n".join(lines) + "\n"


def _result(name: str, rows: list[dict[str, Any]]) -> list[str]:
    """One line: the rate by hand, ratios of the others, and the best of ours beside the chip."""
    fastest = {
        kind: min((row for row in rows if row["kind"] == kind), key=lambda row: row["median"])
        for kind in {row["kind"] for row in rows}
    }
    if "triton" not in fastest:
        return []
    ratios = [f"{fastest[kind]['ratio']:.2f}" if kind in fastest else "" for kind in KINDS]
    part = fastest.get("tile2triton", {}).get("of peak")
    of_chip = "" if part is None else f"{part:.0%}"
    return [f"| {name} | {fastest['triton']['rate']:.0f} | {' | '.join(ratios)} | {of_chip} |"]
