"""`tilelang.testing`: marks that skip tests where their GPU is not there, seeds, and `main`."""

from __future__ import annotations

import importlib.util
import inspect
import operator
import random
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from tile2triton.tilelang.device import get_target_compute_version, parse_compute_version

Mark = Callable[[Any], Any]
COMPARISONS = {
    "ge": (operator.ge, "at least"),
    "gt": (operator.gt, "above"),
    "le": (operator.le, "at most"),
    "lt": (operator.lt, "below"),
    "eq": (operator.eq, "exactly"),
}


def main() -> NoReturn:
    """Run the tests of the calling file with pytest."""
    import pytest

    file = inspect.getsourcefile(sys._getframe(1))
    sys.exit(pytest.main([str(file), *sys.argv[1:]]))


def set_random_seed(seed: int = 42) -> None:
    """Seed Python, NumPy and torch, on all devices."""
    import numpy
    import torch

    random.seed(seed)
    numpy.random.seed(seed)
    torch.manual_seed(seed)


class Requirement:
    """A mark that skips a test; used as `@requires_cuda` and as `@requires_cuda()`."""

    def __init__(self, name: str, is_met: Callable[[], bool]) -> None:
        self.name = name
        self.is_met = is_met

    def __call__(self, function: Any = None) -> Any:
        return self if function is None else self.marks()[0](function)

    def marks(self) -> list[Any]:
        """The marks by themselves, as pytest has them."""
        return [_skip_unless(self.is_met(), f"needs {self.name}")]


def requires_package(*packages: str) -> Mark:
    """Skip a test unless all of the packages are installed."""
    missing = [one for one in packages if importlib.util.find_spec(one) is None]
    mark: Mark = _skip_unless(not missing, f"needs {', '.join(missing)}")
    return mark


def requires_cuda_compute_version(
    major_version: int, minor_version: int = 0, mode: str = "ge"
) -> Mark:
    """Skip a test unless the GPU's compute capability compares as said."""
    if mode not in COMPARISONS:
        raise ValueError(f"mode must be one of {', '.join(COMPARISONS)}, but is {mode!r}")
    compare, words = COMPARISONS[mode]
    found = _compute_capability()
    is_met = found is not None and compare(found, (major_version, minor_version))
    has = "none" if found is None else f"{found[0]}.{found[1]}"
    reason = f"needs compute capability {words} {major_version}.{minor_version}, has {has}"
    mark: Mark = _skip_unless(is_met, reason)
    return mark


def requires_cuda_compute_version_ge(major_version: int, minor_version: int = 0) -> Mark:
    return requires_cuda_compute_version(major_version, minor_version, "ge")


def requires_cuda_compute_version_gt(major_version: int, minor_version: int = 0) -> Mark:
    return requires_cuda_compute_version(major_version, minor_version, "gt")


def requires_cuda_compute_version_le(major_version: int, minor_version: int = 0) -> Mark:
    return requires_cuda_compute_version(major_version, minor_version, "le")


def requires_cuda_compute_version_lt(major_version: int, minor_version: int = 0) -> Mark:
    return requires_cuda_compute_version(major_version, minor_version, "lt")


def requires_cuda_compute_version_eq(major_version: int, minor_version: int = 0) -> Mark:
    return requires_cuda_compute_version(major_version, minor_version, "eq")


def _has_cuda() -> bool:
    import torch

    return bool(torch.cuda.is_available()) and torch.version.hip is None


def _amd_arch() -> str:
    """The architecture of AMD's GPU, or an empty text."""
    import torch

    if not torch.cuda.is_available() or torch.version.hip is None:
        return ""
    return str(torch.cuda.get_device_properties(0).gcnArchName)


def _compute_capability() -> tuple[int, int] | None:
    return parse_compute_version(get_target_compute_version()) if _has_cuda() else None


def _skip_unless(is_met: bool, reason: str) -> Any:
    import pytest

    return pytest.mark.skipif(not is_met, reason=reason)


requires_cuda = Requirement("a GPU of NVIDIA's", _has_cuda)
requires_gpu = Requirement("a GPU", lambda: _has_cuda() or bool(_amd_arch()))
requires_rocm = Requirement("a GPU of AMD's", lambda: bool(_amd_arch()))
requires_cdna = Requirement("an AMD Instinct GPU", lambda: _amd_arch().startswith("gfx9"))
requires_gfx950 = Requirement("an AMD MI350", lambda: _amd_arch().startswith("gfx950"))
requires_cuda_or_cdna = Requirement(
    "a GPU of NVIDIA's or an AMD Instinct", lambda: _has_cuda() or _amd_arch().startswith("gfx9")
)
requires_metal = Requirement("Metal, for which Triton does not compile", lambda: False)
requires_llvm = Requirement("TileLang's CPU back end, which is not here", lambda: False)
