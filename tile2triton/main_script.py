"""Runs a file as Python itself runs the one that it is given."""

import builtins
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType


def run_script(path: Path) -> None:
    """Run a file as `__main__`, which it stays: what it starts looks there for its functions."""
    main = ModuleType("__main__")
    main.__dict__.update(
        __file__=str(path),
        __builtins__=builtins,
        __loader__=SourceFileLoader("__main__", str(path)),
        __spec__=None,
    )
    sys.modules["__main__"] = main
    code = SourceFileLoader("__main__", str(path)).source_to_code(path.read_bytes(), str(path))
    exec(code, main.__dict__)
