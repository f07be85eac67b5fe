"""`tilelang.language.kernel`: threads of a block, and names without a meaning here."""

from typing import Any

from tile2triton.frontend.loops import thread_extents
from tile2triton.tilelang.absent import COMPILER, absent

globals().update(absent("tilelang.language.kernel", "KernelLaunchFrame", COMPILER))


def _normalize_threads(threads: Any) -> list[int]:
    """The extents of a block in three dimensions."""
    given = thread_extents(threads)
    return [*given, *(1,) * (3 - len(given))]
