"""An emitted launcher in a namespace of its own, in which its kernels are launched directly."""

import ast
import functools
import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch
from triton.runtime.errors import OutOfResources

from tile2triton.environment import launches_directly

from .binaries import is_known
from .kernel import DirectKernel, is_direct
from .surroundings import PREFIX
from .tree import direct_tree

Launcher = Callable[..., Any]


def direct_launcher(
    module: ModuleType,
    text: str,
    name: str,
    otherwise: Launcher,
    explain: Launcher,
    shapes_are_known: bool = False,
) -> Launcher | None:
    """The launcher `name` of an emitted module for tensors on a GPU, at a lower cost for each call.

    It leaves arguments that do not fit, or are elsewhere, to `otherwise`. `explain` gets an error
    and the arguments, and may raise a better error. None where Triton is to launch. Where the
    shapes and types are known to be those of a call before, it does not compare them again.

    The module stays as it is: its kernels call each other, and other tools launch them.
    """
    if not is_known() or not launches_directly():
        return None
    values = vars(module)
    made = direct_tree(text, name, values, shapes_are_known)
    if made is None or not all(is_direct(values[x.kernel], x) for x in made.sites.values()):
        return None
    namespace = {
        **values,
        f"{PREFIX}otherwise": otherwise,
        f"{PREFIX}explain": explain,
        f"{PREFIX}errors": (OutOfResources, RuntimeError, ValueError),
    }
    for stand_in, site in made.sites.items():
        use = functools.partial(namespace.__setitem__, stand_in)
        namespace[stand_in] = DirectKernel(values[site.kernel], site, use).first
    for stand_in, shape in made.allocated.items():
        # `new_empty` takes 1.3 times as long, most of it to read its arguments.
        strides = [math.prod(max(size, 1) for size in shape[at + 1 :]) for at in range(len(shape))]
        namespace[stand_in] = functools.partial(torch.empty_strided, shape, strides)
    if "TensorDescriptor" in namespace:
        if not made.is_whole:
            return None
        # Making a descriptor takes 1.5 us. This keeps what it is made of, and calling it makes one.
        describe = functools.partial(functools.partial, values["TensorDescriptor"])
        namespace["TensorDescriptor"] = describe
    # Where the tensors are on another GPU than the current one, the function calls itself.
    exec(compile(ast.Module([made.function], []), str(module.__file__), "exec"), namespace)
    return namespace[name]  # type: ignore[no-any-return]
