"""Patches by kernel: what emitted modules ask for when they are imported."""

import functools
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from triton.runtime.jit import JITFunction

from .hook import require_hook
from .patching import Request

# The packages and modules whose code decides what a patch does.
_DECIDING = (
    "ttgir/**/*.py",
    "ttgir_text/**/*.py",
    "layouts/**/*.py",
    "sites.py",
    "patch_targets.py",
)
# The requests of each patched kernel, by the name of its entry function in compiled code.
REQUESTS: dict[str, tuple[Request, ...]] = {}


def patch(kernel: Any, *patches: tuple[Any, ...]) -> None:
    """Apply patches whenever `kernel`, a `@triton.jit` function, is compiled.

    Each is (kind, variable, arguments), and the hint that it stands for as words. Text and name of
    the kernel change with them, so that neither Triton's caches nor profilers confuse two variants.
    What cannot be applied is left out with a warning when the kernel is compiled; nothing raises.
    """
    if not isinstance(kernel, JITFunction):
        # Triton's own interpreter runs the kernel, and compiles nothing.
        return
    requests = tuple(Request(*given) for given in patches)
    digest = _digest(requests)
    name = f"{kernel.__name__}__{digest[:8]}"
    REQUESTS[name] = requests
    kernel._unsafe_update_src(f"{kernel.src}\n# tile2triton patches {digest}\n")
    kernel._repr = functools.partial(_same_name, name)
    require_hook()
    # Whoever installs a hook later may have left ours out: before a launch, and before a compile.
    kernel.add_pre_run_hook(require_hook)
    kernel.__class__ = _Patched


class _Patched(JITFunction):  # type: ignore[misc]
    """A kernel that is only compiled with our hook, also where `triton.compile` is called."""

    @property
    def cache_key(self) -> str:
        """What Triton asks for first of all when it compiles a kernel."""
        require_hook()
        key: str = super().cache_key
        return key


def requests_of(entry: str) -> tuple[Request, ...]:
    """What is asked for the kernel whose compiled code has that name."""
    return REQUESTS.get(entry, ())


def _digest(requests: tuple[Request, ...]) -> str:
    wanted = json.dumps([request.identity for request in requests], default=str)
    return hashlib.sha256((package_digest() + wanted).encode()).hexdigest()


@functools.cache
def package_digest() -> str:
    """A hash of how patches are applied; what was compiled or tried otherwise is out of date."""
    root = Path(__file__).parent.parent
    found = hashlib.sha256()
    for path in sorted(path for pattern in _DECIDING for path in root.glob(pattern)):
        found.update(path.relative_to(root).as_posix().encode())
        found.update(path.read_bytes())
    return found.hexdigest()


def _same_name(name: str, specialization: Mapping[str, Any]) -> str:
    """Stands for the `repr` that `@triton.jit` takes."""
    return name
