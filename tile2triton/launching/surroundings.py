"""What a launch depends on besides its arguments: Triton's driver, knobs and hooks."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from triton.runtime import jit
from triton.runtime.driver import driver
from triton.runtime.jit import JITFunction

from tile2triton.knobs import launch_hooks, launch_knobs, stages_hook

# What is no name of the user's begins with this in the code of a launch.
PREFIX = "_direct_"
# The conditions under which nothing has changed; a `$` stands for the prefix.
UNCHANGED = (
    "$runtime.__dict__ == $known_knobs",
    "not $compilation.instrumentation_mode",
    "not $enter.calls",
    "not $leave.calls",
    "$driver._active is $known_driver",
    "$kernel.pre_run_hooks == $known_hooks",
    "$jit_function.run is $known_run",
)


class Surroundings:
    """Those in which the binaries of a kernel were found."""

    def __init__(self, kernel: JITFunction) -> None:
        self.kernel = kernel
        self.runtime, self.compilation = launch_knobs()
        self.scope: dict[str, Any] = {}
        self.define(
            runtime=self.runtime,
            compilation=self.compilation,
            driver=driver,
            kernel=kernel,
            jit_function=JITFunction,
        )
        self.known: dict[str, Any] | None = None

    def now(self) -> dict[str, Any] | None:
        """What `UNCHANGED` compares; None where a launch is more than its binary."""
        enter, leave = launch_hooks()
        if enter is None or leave is None or enter.calls or leave.calls:
            return None
        if self.compilation.instrumentation_mode:
            return None
        # Other tools put a function of theirs in its place while they watch or replace launches.
        run = JITFunction.run
        if not isinstance(run, FunctionType) or run.__globals__ is not vars(jit):
            return None
        if not self._has_own_hooks_only():
            return None
        return {
            "known_knobs": dict(vars(self.runtime)),
            "known_driver": driver.active,
            "known_run": run,
            "known_hooks": list(self.kernel.pre_run_hooks),
            "enter": enter,
            "leave": leave,
        }

    def remember(self, known: dict[str, Any] | None) -> None:
        """From now on `UNCHANGED` means as it is in `known`; it never holds where that is None."""
        self.known = known
        if known is None:
            self.define(known_knobs=None)
            return
        active = known["known_driver"]
        self.define(
            stream=active.get_current_stream, current_device=active.get_current_device, **known
        )

    def define(self, **names: Any) -> None:
        """Give names a meaning in the code of a launch."""
        self.scope |= {f"{PREFIX}{name}": value for name, value in names.items()}

    def _has_own_hooks_only(self) -> bool:
        """Whether nothing is called before a launch or a compilation, or what patches need alone.

        That makes no difference where nothing is compiled.
        """
        hook = stages_hook()
        if hook is None and not self.kernel.pre_run_hooks:
            return True
        from tile2triton.ttgir.hook import StagesHook, require_hook

        is_own = hook is None or (isinstance(hook, StagesHook) and hook.earlier is None)
        return is_own and all(one is require_hook for one in self.kernel.pre_run_hooks)
