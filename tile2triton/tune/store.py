"""Results on disk, so that no process tunes what another has tuned."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tile2triton.cache_files import write_cached
from tile2triton.environment import cache_directory, is_caching
from tile2triton.tune.configs import Config
from tile2triton.tune.report import Row, TuningReport

# Raised where a stored result would mean something else.
FORMAT = 2


@dataclass(frozen=True)
class Stored:
    """A result, and the Triton that its best configuration made, by which it is known again."""

    best: int
    text: str
    report: TuningReport


def key_of(parts: Sequence[str]) -> str:
    """The key of what these texts describe."""
    text = json.dumps([FORMAT, *parts])
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def read(key: str, configs: Sequence[Config] | None = None) -> Stored | None:
    """The result of that key; None where there is none that can be read.

    Without `configs` they are those that were stored.
    """
    if not is_caching():
        return None
    try:
        record = json.loads(_path(key).read_text(encoding="utf-8"))
        known = record["configs"] if configs is None else configs
        rows = tuple(
            Row(known[index], row["status"], row["latency"], row["reason"], row["error"])
            for index, row in enumerate(record["rows"])
        )
        report = TuningReport(record["name"], record["chip"], rows, record["ref_latency"], True)
        return Stored(record["best"], record["text"], report)
    except (OSError, ValueError, KeyError, IndexError, TypeError):
        # A result that cannot be read is measured again and written anew.
        return None


def write(key: str, stored: Stored, configs: Sequence[Config] | None = None) -> None:
    """Keep a result; where the directory cannot be written, it is not kept.

    `configs` are kept beside it where nobody lists them.
    """
    if not is_caching():
        return
    report = stored.report
    record = {
        "name": report.name,
        "chip": report.chip,
        "best": stored.best,
        "text": stored.text,
        "ref_latency": report.ref_latency,
        "rows": [
            {
                "status": row.status,
                "latency": row.latency,
                "reason": row.reason,
                "error": row.error,
            }
            for row in report.rows
        ],
        "configs": None if configs is None else list(configs),
    }
    with contextlib.suppress(OSError):
        write_cached(_path(key), json.dumps(record, indent=1))


def _path(key: str) -> Path:
    return cache_directory() / "tuning" / f"{key}.json"
