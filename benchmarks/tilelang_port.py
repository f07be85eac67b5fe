"""The tile programs of `tests/kernels` as TileLang runs them: the same text, another import."""

import hashlib
import importlib.util
import os
import tempfile
from functools import cache
from pathlib import Path
from types import ModuleType

KERNELS = Path(__file__).resolve().parent.parent / "tests" / "kernels"
REPLACEMENTS = (("tile2triton.kernel", "tilelang.jit"), ("tile2triton", "tilelang"))


@cache
def tilelang_version(name: str) -> ModuleType:
    """The module `tests/kernels/<name>.py` with TileLang in the place of tile2triton.

    TileLang reads the source of a kernel again, so the text goes to a file that stays, always the
    same one: what is compiled is found again by later processes.
    """
    text = (KERNELS / f"{name}.py").read_text()
    for ours, theirs in REPLACEMENTS:
        text = text.replace(ours, theirs)
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    path = Path(tempfile.gettempdir()) / f"tilelang_port_{os.getuid()}" / digest / f"{name}.py"
    if not path.exists():
        # Several processes may want it at once: a file that is there is whole.
        path.parent.mkdir(parents=True, exist_ok=True)
        own = path.with_suffix(f".{os.getpid()}")
        own.write_text(text)
        own.replace(path)
    spec = importlib.util.spec_from_file_location(f"tilelang_port_{name}", path)
    assert spec is not None, path
    assert spec.loader is not None, path
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
