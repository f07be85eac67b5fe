"""What stands for a kernel in a launcher's namespace, and launches what it has launched before."""

from __future__ import annotations

import functools
from collections.abc import Hashable
from types import MethodType
from typing import Any

import torch
from triton.runtime.jit import JITFunction

from .binaries import Binary, binary_of
from .launch_code import Kind, defined, launch_text
from .sites import Site
from .surroundings import PREFIX, Surroundings

# Sizes that a kernel is specialised on one by one, as 1 and those beyond 32 bits, may be many.
MOST_BINARIES = 1024
# What completes a grid of as many extents.
ONES = ((1, 1, 1), (1, 1), (1,), ())


class DirectKernel:
    """A kernel under @triton.jit, for whose launches is looked up what Triton compiled.

    What is looked up is at least as fine as what Triton tells apart. Where nothing is found, hooks
    are set, or arguments are of another kind than those of the first launch, Triton launches.
    """

    def __init__(self, kernel: JITFunction, site: Site) -> None:
        self.kernel = kernel
        self.site = site
        self.binaries: dict[Hashable, Binary] = {}
        self.surroundings = Surroundings(kernel)
        self.kinds: tuple[Kind, ...] = ()

    def __getitem__(self, grid: tuple[int, ...]) -> Any:
        """The launch with a grid; from the first one on a function that is made for the kernel."""
        return functools.partial(self._first, grid)

    def _first(self, grid: tuple[int, ...], *arguments: Any, **named: Any) -> None:
        self.kinds = tuple(map(Kind.of, arguments))
        constants = [parameter.name for parameter in self.kernel.params if parameter.is_constexpr]
        several = torch.cuda.device_count() > 1
        self.surroundings.remember(self.surroundings.now())
        self.surroundings.define(find=self.binaries.get, missed=self._missed, ones=ONES)
        text = launch_text(self.kinds, constants, self.site.keywords, several)
        launch = defined(text, self.surroundings.scope)
        # Python looks `__getitem__` up in the type, so the object gets a type of its own.
        body = {"__getitem__": MethodType(functools.partial, launch)}
        self.__class__ = type("DirectKernel", (DirectKernel,), body)
        launch(grid, *arguments, **named)

    def _missed(
        self,
        key: Hashable | None,
        grid: tuple[int, ...],
        arguments: tuple[Any, ...],
        named: dict[str, Any],
    ) -> None:
        """Let Triton launch; what it launched is kept by the key, where there is one."""
        before = self.surroundings.now()
        made = [value() if type(value) is functools.partial else value for value in arguments]
        compiled = self.kernel[grid](*made, **named)
        after = self.surroundings.now()
        if after is None or after != before:
            return
        if after != self.surroundings.known:
            # What was found in other surroundings may be another binary.
            self.binaries.clear()
            self.surroundings.remember(after)
        elif key is not None and all(map(Kind.takes, self.kinds, arguments)):
            binary = binary_of(compiled, self.kinds.count(Kind.DESCRIPTOR))
            if binary is not None:
                if len(self.binaries) >= MOST_BINARIES:
                    self.binaries.clear()
                self.binaries[key] = binary


def is_direct(kernel: Any, site: Site) -> bool:
    """Whether a launch passes first what is no constant, then constants and options by name."""
    if not isinstance(kernel, JITFunction):
        return False
    first, rest = kernel.params[: site.positional], kernel.params[site.positional :]
    return (
        not any(parameter.is_constexpr for parameter in first)
        and all(parameter.is_constexpr for parameter in rest)
        and {parameter.name for parameter in rest} <= {*site.keywords}
        and not any(not name or name.startswith(PREFIX) for name in site.keywords)
    )
