"""`tilelang.tools.cuda.iket`: profiling markers, which are erased."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class PayloadSpec:
    """A value that a marker would report."""

    expr: Any
    dtype: str | None = None


@dataclass
class _State:
    directory: Path | None = None
    payloads: bool = False


_state = _State()


def payload(expr: Any, dtype: str | None = None) -> PayloadSpec:
    """A value for a marker."""
    return PayloadSpec(expr, dtype)


def mark(name: str, payload: Any = None) -> None:
    """A moment; nothing is emitted for it."""


def range_push(name: str, payload: Any = None) -> None:
    """The start of a span; nothing is emitted for it."""


def range_pop(name: str | None = None) -> None:
    """The end of a span; nothing is emitted for it."""


range_start, range_end = range_push, range_pop


@contextlib.contextmanager
def range(name: str, payload: Any = None) -> Iterator[None]:
    """A span; nothing is emitted for it."""
    yield


@contextlib.contextmanager
def session(
    output_dir: Any = None, runtime_payloads: bool = False, **recorded: Any
) -> Iterator[None]:
    """Where a profiler would be on; kernels run as they do without it."""
    before = _state.directory, _state.payloads
    set_output_dir(output_dir)
    _state.payloads = runtime_payloads
    try:
        yield
    finally:
        _state.directory, _state.payloads = before


def event_table() -> list[dict[str, Any]]:
    """The markers in the kernels: none, as they are erased."""
    return []


def set_output_dir(path: Any) -> Path | None:
    """Where traces would be."""
    _state.directory = None if path is None else Path(path)
    return _state.directory


def output_dir(default: Any = None) -> Path | None:
    """Where traces would be."""
    return _state.directory or (None if default is None else Path(default))


def output_path(name: str, *, directory: Any = None) -> Path:
    """A file in the directory of traces, which is made."""
    folder = Path(directory) if directory is not None else output_dir(".")
    assert folder is not None, "there is a default"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / name


def trace_files(*, directory: Any = None) -> list[Path]:
    """The traces: none, as nothing is traced."""
    return []


def profile_command(*arguments: Any, **keywords: Any) -> str:
    """How to trace a program: there is no such command."""
    return "# markers are erased, so that there is nothing to trace"


def runtime_payloads_enabled() -> bool:
    return _state.payloads


def enable_runtime_payloads() -> None:
    _state.payloads = True


def disable_runtime_payloads() -> None:
    _state.payloads = False


def is_enabled() -> bool:
    """Whether markers are traced."""
    return False


def enable(*, override: bool = True) -> None:
    """Accepted; markers are erased."""


def disable(*, restore: bool = True) -> None:
    """Accepted; markers are erased."""


def reset() -> None:
    """Accepted; there is nothing to forget."""
