"""What stands for `kernel[grid]` in a launcher, and launches what it has launched before."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Hashable
from typing import Any

import torch
from triton.runtime.jit import JITFunction
from triton.tools.tensor_descriptor import TensorDescriptor

from .binaries import Binary, binary_of
from .launch_code import Kind, defined, launch_text
from .surroundings import Surroundings
from .tree import Argument, Site

# Sizes that a kernel is specialised on one by one, as 1 and those beyond 32 bits, may be many.
MOST_BINARIES = 1024
# What completes a grid of as many extents.
ONES = ((1, 1, 1), (1, 1), (1,), ())


class DirectKernel:
    """One launch in a launcher, for which is looked up what Triton compiled for its arguments.

    The key is at least as fine as what Triton tells apart. Where nothing is found, hooks are set,
    or arguments are of another kind than those of the first launch, Triton launches.
    """

    def __init__(self, kernel: JITFunction, site: Site, use: Callable[..., None]) -> None:
        self.kernel = kernel
        self.site = site
        self.use = use
        self.binaries: dict[Hashable, Binary] = {}
        self.surroundings = Surroundings(kernel)
        self.kinds: tuple[Kind, ...] = ()
        self.launch: Callable[..., None] | None = None
        self.lock = threading.Lock()

    def first(self, grid: tuple[int, ...], *arguments: Any) -> None:
        """The first launch; `use` gets the function that is made for later ones."""
        with self.lock:
            # Another thread may have been the first.
            launch = self.launch = self.launch or self._made_for(arguments)
        self.use(launch)
        launch(grid, *arguments)

    def _made_for(self, arguments: tuple[Any, ...]) -> Callable[..., None]:
        """The function for arguments of the same kinds."""
        self.kinds = tuple(map(Kind.of, arguments, self.site.arguments))
        names = [parameter.name for parameter in self.kernel.params]
        constants = [self.site.named[name] for name in names[len(arguments) :]]
        self.surroundings.remember(self.surroundings.now())
        self.surroundings.define(find=self.binaries.get, missed=self._missed, ones=ONES)
        self.surroundings.define(**{f"constant{at}": one for at, one in enumerate(constants)})
        several = torch.cuda.device_count() > 1
        text = launch_text(self.kinds, self.site.arguments, len(constants), several)
        return defined(text, self.surroundings.scope)

    def _missed(self, key: Hashable | None, grid: tuple[int, ...], *arguments: Any) -> None:
        """Let Triton launch; what it launched is kept by the key, where there is one."""
        before = self.surroundings.now()
        compiled = self._launch_by_triton(grid, *arguments)
        after = self.surroundings.now()
        if self.kernel.used_global_vals:
            # Triton compares them at every launch.
            self.use(self._launch_by_triton)
        elif after is None or after != before:
            return
        elif after != self.surroundings.known:
            # What was found in other surroundings may be another binary.
            self.binaries.clear()
            self.surroundings.remember(after)
        elif key is not None and all(map(Kind.takes, self.kinds, arguments, self.site.arguments)):
            self._keep(key, binary_of(compiled, self._describing()))

    def _keep(self, key: Hashable, binary: Binary | None) -> None:
        if binary is None:
            self.use(self._launch_by_triton)
            return
        if len(self.binaries) >= MOST_BINARIES:
            self.binaries.clear()
        self.binaries[key] = binary

    def _launch_by_triton(self, grid: tuple[int, ...], *arguments: Any) -> Any:
        known = zip(arguments, self.site.arguments, strict=True)
        return self.kernel[grid](*(made(one, of) for one, of in known), **self.site.named)

    def _describing(self) -> list[Callable[[Any], Any]]:
        """What makes a descriptor of each argument that stands for one."""
        known = zip(self.kinds, self.site.arguments, strict=True)
        return [functools.partial(made, known=one) for kind, one in known if kind.is_descriptor]


def made(argument: Any, known: Argument) -> Any:
    """The argument as Triton takes it."""
    if type(argument) is functools.partial:
        return argument()
    if known.descriptor is not None:
        return TensorDescriptor(argument, *known.descriptor)
    return argument


def is_direct(kernel: Any, site: Site) -> bool:
    """Whether a launch passes first what is no constant, then all constants by name."""
    if not isinstance(kernel, JITFunction) or kernel.is_gluon():
        return False
    first, rest = kernel.params[: len(site.arguments)], kernel.params[len(site.arguments) :]
    return (
        not any(parameter.is_constexpr for parameter in first)
        and all(parameter.is_constexpr for parameter in rest)
        and {parameter.name for parameter in rest} <= {*site.named}
    )
