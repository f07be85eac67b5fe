"""An emitted launcher in a namespace of its own, in which its kernels are launched directly."""

import functools
from collections import Counter
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from .kernel import DirectKernel, is_direct
from .sites import Site, sites_of

Launcher = Callable[..., Any]


def direct_launcher(module: ModuleType, text: str, name: str) -> Launcher:
    """The launcher `name` of an emitted module, whose later launches cost less.

    The module stays as it is: its functions call each other's kernels, and other tools launch them.
    """
    launcher: Launcher = getattr(module, name)
    sites = sites_of(text, name)
    kernels = {
        site.kernel: DirectKernel(vars(module)[site.kernel], site)
        for site in _of_one_form(sites.launches)
        if is_direct(vars(module).get(site.kernel), site)
    }
    if not kernels or not isinstance(launcher, FunctionType):
        return launcher
    namespace = {**vars(module), **kernels}
    if "TensorDescriptor" in namespace:
        if len(kernels) < len(sites.launches) or not sites.describes_plainly:
            return launcher
        # Making a descriptor takes 1.5 us. This keeps what it is made of, and calling it makes one.
        namespace["TensorDescriptor"] = functools.partial(
            functools.partial, vars(module)["TensorDescriptor"]
        )
    direct = FunctionType(
        launcher.__code__, namespace, name, launcher.__defaults__, launcher.__closure__
    )
    # Where the tensors are on another GPU than the current one, the launcher calls itself.
    namespace[name] = direct
    return direct


def _of_one_form(launches: tuple[Site, ...]) -> list[Site]:
    """Those of kernels whose launches all pass their arguments in one form."""
    count = Counter(site.kernel for site in launches)
    return [site for site in launches if count[site.kernel] == 1]
