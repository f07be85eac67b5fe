"""Draw a report of `benchmarks.run` as a picture: speed beside the best Triton by hand.

    python -m benchmarks.plot report.json picture.png

It needs matplotlib.
"""

import argparse
import json
from pathlib import Path
from typing import Any

COLOURS = {"tile2triton": "tab:blue", "triton": "tab:gray", "torch": "tab:green"}
OTHER = "tab:orange"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("report", type=Path, help="the JSON that `benchmarks.run --json` wrote")
    parser.add_argument("picture", type=Path, help="a PNG, SVG or PDF")
    options = parser.parse_args()
    draw(json.loads(options.report.read_text()), options.picture)


def bars(report: dict[str, Any]) -> list[tuple[str, str, float]]:
    """Workload, kind and ratio of the best contestant of each kind, in the report's order.

    What was measured in a CUDA graph, too, comes a second time.
    """
    found = []
    for entry in report["workloads"]:
        name = entry["workload"]
        graphs = [{"kind": row["kind"], **row.get("in graph", {})} for row in entry["rows"]]
        for title, rows in ((name, entry["rows"]), (f"{name}, in a graph", graphs)):
            best: dict[str, float] = {}
            for row in rows:
                if "ratio" in row:
                    best[row["kind"]] = max(best.get(row["kind"], 0.0), row["ratio"])
            found += [(title, kind, ratio) for kind, ratio in best.items()]
    return found


def draw(report: dict[str, Any], picture: Path) -> None:
    """One group of bars for each workload; a line where the best Triton by hand is."""
    from matplotlib.figure import Figure

    found = bars(report)
    names = list(dict.fromkeys(name for name, *_ in found))
    kinds = list(dict.fromkeys(kind for _, kind, _ in found))
    figure = Figure(figsize=(9, 1.2 + 0.22 * len(found)), layout="constrained")
    axes = figure.subplots()
    width = 0.8 / max(1, len(kinds))
    for number, kind in enumerate(kinds):
        ratios = {name: ratio for name, one, ratio in found if one == kind}
        places = [names.index(name) + number * width for name in ratios]
        colour = COLOURS.get(kind, OTHER)
        axes.barh(places, list(ratios.values()), width, label=kind, color=colour)
    axes.set_yticks([at + 0.4 - width / 2 for at in range(len(names))], names)
    axes.invert_yaxis()
    axes.axvline(1.0, color="black", linewidth=0.8)
    axes.set_xlabel("speed, the best hand-written Triton being 1")
    axes.legend()
    machine = report["machine"]
    axes.set_title(f"{machine['gpu']}, Triton {machine['triton_module']}")
    figure.savefig(picture, dpi=150)


if __name__ == "__main__":
    main()
