"""Which patches of compiled code there are, found without Triton."""

import functools
from pathlib import Path

_FOLDER = Path(__file__).parent.parent / "ttgir" / "patches"


@functools.cache
def patch_kinds() -> frozenset[str]:
    """The kinds of patches, one for each file of `tile2triton/ttgir/patches/`."""
    return frozenset(path.stem for path in _FOLDER.glob("[a-z]*.py"))
