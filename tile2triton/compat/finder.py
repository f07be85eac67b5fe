"""Finds `tilelang` and `tvm` in `names/`, one small real file for each of their modules."""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType

from tile2triton.diagnostics import Diagnostic, TileError

NAMES = Path(__file__).parent / "names"
PACKAGES = ("tilelang", "tvm", "tvm_ffi")


class NamesFinder(MetaPathFinder):
    """Answers for the packages; their submodules are found by Python itself, in their folders."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The file of a package of ours, or None for every other module."""
        return PathFinder.find_spec(fullname, [str(NAMES)]) if fullname in PACKAGES else None


def install() -> None:
    """Make the names resolve to ours from now on. Raises `TileError` where it is too late."""
    if is_installed():
        return
    for name in PACKAGES:
        module = sys.modules.get(name)
        if module is not None and not _is_ours(module):
            raise TileError(
                Diagnostic(
                    "T2T500",
                    f"`{name}` was imported before tile2triton.compat, and stays what it is",
                    found=(f"{name}: {getattr(module, '__file__', None) or 'a built-in module'}",),
                    hint="write `import tile2triton.compat` above the first `import tilelang`, or "
                    "start the program with `tile2triton run`",
                )
            )
    # First, so that an installed TileLang does not come before it.
    sys.meta_path.insert(0, NamesFinder())
    # Processes that multiprocessing spawns get this path, and not the finder.
    sys.path.append(str(NAMES))


def is_installed() -> bool:
    """Whether the names resolve to ours."""
    return any(isinstance(finder, NamesFinder) for finder in sys.meta_path)


def _is_ours(module: ModuleType) -> bool:
    """A process that was started from one with the names finds them on its path."""
    return Path(getattr(module, "__file__", None) or "/").is_relative_to(NAMES)
