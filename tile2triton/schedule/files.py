"""Files of schedules: TOML for people, JSON where the name says so."""

from __future__ import annotations

import dataclasses
import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tile2triton.diagnostics import Diagnostic, TileError
from tile2triton.frontend.failures import failure


def read_file(path: Path) -> dict[str, Any]:
    """What a file says. Raises `TileError` where it cannot be read."""
    try:
        text = path.read_text(encoding="utf-8")
        found = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (OSError, ValueError) as error:
        raise failure("T2T875", f"the schedule {path} cannot be read: {error}") from None
    if not isinstance(found, dict):
        raise failure("T2T875", f"the schedule {path} holds no table of annotations")
    return found


@contextmanager
def placed_in(path: Path) -> Iterator[None]:
    """Let errors of what a file says stand at the line of the file, as far as it has one."""
    try:
        yield
    except TileError as error:
        if not path.is_file():
            raise
        lines = path.read_text(encoding="utf-8").splitlines()
        raise TileError(*(_placed(one, path, lines) for one in error.diagnostics)) from None


def _placed(one: Diagnostic, path: Path, lines: list[str]) -> Diagnostic:
    words = set(re.findall(r"\w+", one.message))
    named = (at for at, line in enumerate(lines, 1) if words & set(re.findall(r"^\W*(\w+)", line)))
    numbered = re.search(r"\(at line (\d+)", one.message)
    line = int(numbered.group(1)) if numbered else next(named, 1)
    line = min(line, len(lines))
    end = len(lines[line - 1]) + 1 if line else 2
    return dataclasses.replace(one, filename=str(path), line=line, column=1, end=end)


def written(schedule: Mapping[str, Any], path: Path) -> str:
    """The text of a file."""
    if path.suffix == ".json":
        return json.dumps(schedule, indent=2) + "\n"
    plain = [(key, value) for key, value in schedule.items() if ":" not in key]
    lines = [f"{key} = {_value(value)}" for key, value in plain]
    for key, own in schedule.items():
        if ":" in key:
            lines += ["", f"[{json.dumps(key)}]"]
            lines += [f"{name} = {_value(value)}" for name, value in own.items()]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    """A number, text, list or inline table in TOML, which shares the first three with JSON."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_value(one)}" for key, one in value.items()) + " }"
    if isinstance(value, tuple):
        value = list(value)
    return json.dumps(value)
