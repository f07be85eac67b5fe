"""The table of a measurement, which is written after every file, and gone on with."""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.corpus.measure import Measure
from benchmarks.corpus.rows import Row


def measured(measure: Measure, options: argparse.Namespace) -> None:
    """Measure the files that are asked for, and keep a table of all."""
    options.out.mkdir(parents=True, exist_ok=True)
    table = options.out / f"{measure.name}.json"
    rows: dict[str, Row] = {}
    filters = [part for part in options.filter.split(",") if part]
    files = [
        path
        for path in measure.files()
        if not filters or any(part in str(path) for part in filters)
    ]
    if (options.resume or options.again) and table.exists():
        chosen = {path.relative_to(measure.folder).as_posix() for path in files}
        rows = {
            row["file"]: row
            for row in json.loads(table.read_text())
            if row["file"] not in chosen or not _is_again(row, options.again)
        }
    lock = threading.Lock()

    def one(path: Path) -> None:
        name = path.relative_to(measure.folder).as_posix()
        if name in rows:
            return
        started = time.monotonic()
        row = {"file": name, **measure.row(path, name)}
        row["seconds"] = round(time.monotonic() - started, 1)
        with lock:
            rows[name] = row
            _write(measure, rows, table)
            print(f"{len(rows)}/{len(files)} {name}: {row['verdict']} {row['reason']}", flush=True)

    with ThreadPoolExecutor(options.workers) as pool:
        list(pool.map(one, files))
    _write(measure, rows, table)
    print(_summary(rows.values()))


def _is_again(row: Row, again: str) -> bool:
    """Whether a row is to be measured anew."""
    return bool(again) and (row["verdict"] == again or again in row["reason"])


def _write(measure: Measure, rows: dict[str, Row], table: Path) -> None:
    ordered = [rows[name] for name in sorted(rows)]
    table.write_text(json.dumps(ordered, indent=1) + "\n")
    lines = [f"# {measure.title}", "", _summary(ordered), ""]
    lines.append("| " + " | ".join(measure.columns) + " |")
    lines.append("|" + "---|" * len(measure.columns))
    for row in ordered:
        cells = (str(row.get(column, "")).replace("|", "\\|") for column in measure.columns)
        lines.append("| " + " | ".join(cells) + " |")
    table.with_suffix(".md").write_text("\n".join(lines) + "\n")


def _summary(rows: Iterable[Row]) -> str:
    counts = Counter(row["verdict"] for row in rows)
    parts = [f"{count} {verdict}" for verdict, count in counts.most_common()]
    return f"{sum(counts.values())} files: {', '.join(parts)}"
