"""The tile programs of `tests/kernels` as TileLang runs them: the same text, another import."""

import importlib.util
import tempfile
from functools import cache
from pathlib import Path
from types import ModuleType

KERNELS = Path(__file__).resolve().parent.parent / "tests" / "kernels"
REPLACEMENTS = (("tile2triton.kernel", "tilelang.jit"), ("tile2triton", "tilelang"))


@cache
def tilelang_version(name: str) -> ModuleType:
    """The module `tests/kernels/<name>.py` with TileLang in the place of tile2triton.

    TileLang reads the source of a kernel again, so the text goes to a file that stays.
    """
    text = (KERNELS / f"{name}.py").read_text()
    for ours, theirs in REPLACEMENTS:
        text = text.replace(ours, theirs)
    path = Path(tempfile.mkdtemp(prefix="tilelang_port_")) / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(f"tilelang_port_{name}", path)
    assert spec is not None, path
    assert spec.loader is not None, path
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
