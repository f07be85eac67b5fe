"""Markers of the IKET profiler: they compute nothing, and Triton's kernels carry none."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_FOLDER = "TL_IKET_OUTPUT_DIR"
_folder: str | None = None


class PayloadSpec:
    """A value that a marker would record."""

    def __init__(self, expr: Any, dtype: str | None = None) -> None:
        self.expr = expr
        self.dtype = dtype


def payload(expr: Any, dtype: str | None = None) -> PayloadSpec:
    """A value for a marker."""
    return PayloadSpec(expr, dtype)


def mark(name: str, payload: Any = None) -> None:
    """A point of the kernel; left out."""


def range_push(name: str, payload: Any = None) -> None:
    """The start of a part of the kernel; left out."""


def range_pop(name: str | None = None) -> None:
    """The end of a part of the kernel; left out."""


range_start = range_push
range_end = range_pop


@contextlib.contextmanager
def range(name: str, payload: Any = None) -> Iterator[None]:
    """A part of the kernel; left out."""
    yield


def reset() -> None:
    """Forget the events, of which there are none."""


def event_table() -> list[dict[str, int | str]]:
    """The events of the kernels: none, since Triton's kernels carry no markers."""
    return []


def enable(*, override: bool = True) -> None:
    """Ask for markers; kernels stay without."""


def disable(*, restore: bool = True) -> None:
    """Ask for no markers."""


def is_enabled() -> bool:
    """Whether kernels carry markers."""
    return False


def enable_runtime_payloads() -> None:
    """Ask for values with markers; kernels stay without."""


def disable_runtime_payloads() -> None:
    """Ask for no values."""


def runtime_payloads_enabled() -> bool:
    """Whether markers carry values."""
    return False


@contextlib.contextmanager
def session(*, output_dir: str | os.PathLike[str] | None = None, **options: Any) -> Iterator[None]:
    """Kernels made inside would carry markers; here they are as outside."""
    set_output_dir(output_dir)
    yield


def set_output_dir(directory: str | os.PathLike[str] | None) -> None:
    """Where `output_path` puts files."""
    global _folder
    _folder = None if directory is None else os.fspath(directory)


def output_dir() -> Path | None:
    """The folder of `output_path`, if one was set."""
    given = _folder or os.environ.get(_FOLDER)
    return Path(given) if given else None


def output_path(name: str, directory: str | os.PathLike[str] | None = None) -> Path:
    """A path in the folder, which is made if it is not there."""
    folder = Path(directory) if directory is not None else output_dir() or Path.cwd()
    folder.mkdir(parents=True, exist_ok=True)
    return folder / name


def trace_files(directory: str | os.PathLike[str] | None = None) -> list[Path]:
    """The traces of a profiler, of which there are none."""
    return []
