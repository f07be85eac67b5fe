"""Emitted modules as real files: written once, found again by content, safe among processes."""

import hashlib
import tempfile
import threading
import warnings
from pathlib import Path

from .cache_files import write_cached
from .environment import CACHE_DIR, cache_directory

_LOCK = threading.Lock()
_private: tempfile.TemporaryDirectory[str] | None = None


def write_module(text: str, name: str) -> Path:
    """The file that holds `text`; a file that holds anything else is replaced.

    Where the cache directory cannot be written, a private directory serves this process, with one
    warning.
    """
    file = f"{name}_{hashlib.sha256(text.encode()).hexdigest()[:16]}.py"
    if _private is None:
        try:
            return _written(cache_directory() / file, text)
        except OSError as error:
            _warn_and_go_private(error)
    assert _private is not None, "the private directory was made above"
    return _written(Path(_private.name) / file, text)


def _written(path: Path, text: str) -> Path:
    try:
        if path.read_bytes() == text.encode():
            return path
    except FileNotFoundError:
        pass
    write_cached(path, text)
    return path


def _warn_and_go_private(error: OSError) -> None:
    global _private
    with _LOCK:
        if _private is not None:
            return
        _private = tempfile.TemporaryDirectory(prefix="tile2triton-")
    warnings.warn(
        f"cannot write to {cache_directory()} ({error.strerror}); emitted modules go to "
        f"{_private.name} for this process. Set {CACHE_DIR.name} to a writable directory.",
        RuntimeWarning,
        stacklevel=4,
    )
