"""What launches a compiled kernel: Triton's C function for it, and its first arguments."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from inspect import getclosurevars
from typing import Any

import torch
import triton
from triton.backends.nvidia import driver as nvidia
from triton.compiler import CompiledKernel

# Addresses come back: a process that allocates has few at a time.
MOST_MAPS = 1024

# The launch function, what it takes between stream and arguments, and `Maps` for each descriptor.
Binary = tuple[Any, ...]

VERSION = tuple(int(part) for part in triton.__version__.split(".")[:2])
# From which version on a kernel's arguments are passed as a tuple, by a function for all kernels.
TUPLES = (3, 9)
# The versions whose launchers `_head` knows; with others, Triton launches.
KNOWN = ((3, 6), TUPLES)
# How the arguments are passed, where each of them ends with a comma.
ARGUMENTS = "({})" if VERSION >= TUPLES else "{}"


class Maps(dict[Hashable, tuple[Any, ...]]):
    """Descriptors as the GPU reads them, for one parameter of one binary.

    They are kept by what they are made of, address, shape and strides, so that it does not matter
    whose memory that is; no tensor is kept alive.
    """

    def __init__(self, metadata: dict[str, Any], describe: Callable[[Any], Any]) -> None:
        super().__init__()
        self.metadata = metadata
        self.describe = describe

    def fill(self, where: Hashable, argument: Any) -> tuple[Any, ...]:
        """The arguments that stand for the descriptor that `describe` makes and checks."""
        descriptor = self.describe(argument)
        rest = (None,) if VERSION >= TUPLES else ()
        made = tuple(nvidia.make_tensordesc_arg(descriptor, self.metadata, *rest))
        if len(self) >= MOST_MAPS:
            self.clear()
        self[where] = made
        return made


def is_known() -> bool:
    """Whether this Triton, and what it compiles for here, is what `binary_of` knows."""
    return VERSION in KNOWN and torch.version.hip is None


def binary_of(compiled: Any, describe: Sequence[Callable[[Any], Any]]) -> Binary | None:
    """What launches a compiled kernel on CUDA; None where a launch needs more than its arguments.

    `describe` makes a descriptor of each argument that stands for one. A binary keeps the kernel,
    whose code would be unloaded with it.
    """
    if type(compiled) is not CompiledKernel:
        return None
    launcher = compiled.run
    if type(launcher) is not nvidia.CudaLauncher or _needs_memory(launcher):
        return None
    metadata = getattr(compiled.metadata, "tensordesc_meta", None) or ()
    if len(metadata) != len(describe):
        # Without metadata, a descriptor is passed as a tensor with its shape.
        return None
    maps = map(Maps, metadata, describe)
    run = launcher.launch
    if describe:
        run = getclosurevars(run).nonlocals["launcher"]
    return (run, _head(compiled, launcher), *maps)


def _needs_memory(launcher: Any) -> bool:
    """Whether memory is allocated for each launch, or a tool watches the kernel's accesses."""
    watched = VERSION >= TUPLES and launcher.gsan_enabled
    return bool(watched or launcher.global_scratch_size or launcher.profile_scratch_size)


def _head(compiled: CompiledKernel, launcher: Any) -> tuple[Any, ...]:
    function, packed = compiled.function, compiled.packed_metadata
    options = (launcher.launch_cooperative_grid, launcher.launch_pdl)
    # Neither memory nor hooks, nor what hooks would be told.
    nothing = (None, None, None)
    if VERSION >= TUPLES:
        kept = (launcher.arg_annotations, launcher.kernel_signature)
        return (function, *options, packed, *nothing, None, None, *kept)
    return (function, *options, None, None, packed, *nothing)
