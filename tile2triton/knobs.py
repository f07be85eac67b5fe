"""Every use of `triton.knobs`."""

from collections.abc import Callable
from typing import Any


def cuobjdump_path() -> str:
    """The disassembler that Triton's wheel carries."""
    import triton

    path: str = triton.knobs.nvidia.cuobjdump.path
    return path


def nvdisasm_path() -> str:
    """The one that lists a kernel's instructions."""
    import triton

    path: str = triton.knobs.nvidia.nvdisasm.path
    return path


def stages_hook() -> Callable[..., Any] | None:
    """What Triton calls before it compiles a kernel."""
    import triton

    hook: Callable[..., Any] | None = triton.knobs.runtime.add_stages_inspection_hook
    return hook


def set_stages_hook(hook: Callable[..., Any]) -> None:
    """Have Triton call `hook` before it compiles a kernel."""
    import triton

    triton.knobs.runtime.add_stages_inspection_hook = hook


def launch_knobs() -> tuple[Any, Any]:
    """The knobs of launches and of compiling; what is set on them is in their `__dict__`."""
    import triton

    return triton.knobs.runtime, triton.knobs.compilation


def launch_hooks() -> tuple[Any, Any]:
    """The chains of what is called before and after each launch; None where it is another thing."""
    import triton

    runtime, chain = triton.knobs.runtime, triton.knobs.HookChain
    enter, leave = runtime.launch_enter_hook, runtime.launch_exit_hook
    return (
        enter if isinstance(enter, chain) else None,
        leave if isinstance(leave, chain) else None,
    )
