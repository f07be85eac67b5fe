"""The fastest configurations by chip, in a file, so that not every run has to search for them."""

import json
from pathlib import Path
from typing import Any

from benchmarks.contest import Config

# The chip's name -> workload -> contestant -> its fastest configurations.
Best = dict[str, dict[str, dict[str, list[Config]]]]
FILE = Path(__file__).with_name("best.json")
# A second one, since those that are nearly as fast may change places.
KEPT = 2


def load(path: Path) -> Best:
    return json.loads(path.read_text()) if path.exists() else {}


def narrowed(configs: tuple[Config, ...], found: list[Config]) -> tuple[Config, ...]:
    """Those of the configurations that were the fastest; all where none of these is left."""
    return tuple(config for config in configs if config in found) or configs


def save(path: Path, gpu: str, workloads: list[dict[str, Any]]) -> None:
    """Adds what a run found to the file; what it did not measure stays."""
    best = load(path)
    chip = best.setdefault(gpu, {})
    for entry in workloads:
        found = {
            row["contestant"]: row["finalists"][:KEPT] for row in entry["rows"] if row["finalists"]
        }
        chip.setdefault(entry["workload"], {}).update(found)
    ordered = {name: dict(sorted(workloads.items())) for name, workloads in sorted(best.items())}
    path.write_text(json.dumps(ordered, indent=1) + "\n")
