"""Where Triton lets our stages in: the hook that it calls before it compiles a kernel.

What another tool installs stays in effect: a hook that was there before ours is called first, and
one that is installed later is found before a patched kernel is launched or compiled.

Triton 3.9 makes any hook a part of the keys of what it launches, so that a kernel without patches
is compiled once with a hook and once without; both are the same code.
"""

from collections.abc import Callable
from typing import Any

from ..knobs import set_stages_hook, stages_hook

# Triton 3.9 asks every hook, before each launch, which variant of stages it makes: always the same.
_VARIANT = ("", 0)


class StagesHook:
    """Puts stages that can be patched into Triton's back ends, after another hook had its turn."""

    def __init__(self, earlier: Callable[..., Any] | None) -> None:
        self.earlier = earlier

    def __call__(self, *arguments: Any) -> Any:
        """Triton 3.9 calls without arguments, too; then the answer becomes part of cache keys."""
        given = self.earlier(*arguments) if self.earlier is not None else None
        if arguments:
            # Only a kernel that is compiled needs what this imports.
            from .stages import patch_stages

            patch_stages(arguments[0], arguments[2])
        return given or _VARIANT


def require_hook(*_: Any, **__: Any) -> None:
    """Install the hook, unless it is the one that Triton calls; serves as a launch's hook, too."""
    current = stages_hook()
    if not isinstance(current, StagesHook):
        set_stages_hook(StagesHook(current))
