"""Schedules by name: those that come with tile2triton, and those that a person has added."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path

from rewrites import schedule as plain
from tile2triton.environment import SCHEDULES
from tile2triton.schedule.schedule import Schedule

SHIPPED = Path(__file__).parent / "templates"


def added_directory() -> Path:
    """Where a person's own schedules are; it need not exist."""
    return Path(SCHEDULES.value).expanduser().absolute()


def files() -> dict[str, Path]:
    """The file of each schedule by its name; a person's own come before those that are shipped."""
    found: dict[str, Path] = {}
    for directory in (SHIPPED, added_directory()):
        for suffix in (".json", ".toml"):
            found.update({path.stem: path for path in sorted(directory.glob(f"*{suffix}"))})
    return dict(sorted(found.items()))


def named(name: str) -> Schedule:
    """The schedule of that name. Raises `KeyError` where there is none."""
    return Schedule.read(files()[name])


def templates(target: str) -> Mapping[str, plain.Schedule]:
    """What holds on a target where nothing is said, by the sort of program."""
    stamps = tuple((name, path, path.stat().st_mtime_ns) for name, path in files().items())
    return _templates(stamps, target)


@functools.lru_cache(maxsize=32)
def _templates(
    stamps: tuple[tuple[str, Path, int], ...], target: str
) -> Mapping[str, plain.Schedule]:
    return {name: Schedule.read(path).for_target(target) for name, path, _ in stamps}
