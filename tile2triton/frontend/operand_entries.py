"""What a call of a kernel on whole operands runs, made as code so that it costs little."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tile2triton.frontend.entries import Launcher, defined, parameters_of
from tile2triton.frontend.watched import Watched


def operand_entry(
    name: str,
    signature: inspect.Signature,
    tensors: Sequence[str],
    around: Sequence[Watched],
    find: Callable[..., Launcher | None],
    missed: Launcher,
) -> Launcher:
    """The user's parameters, then a look-up by shapes, types and the values of all others.

    The values of variables `around` the function are part of the key, too.

    `missed` gets the arguments of a call whose key is not known, or that has none.
    """
    scope: dict[str, Any] = {"_find": find, "_missed": missed}
    given = [
        f"{one}={one}" if parameter.kind is parameter.KEYWORD_ONLY else one
        for one, parameter in signature.parameters.items()
    ]
    # To Python 1, 1.0 and True are equal keys.
    parts = [
        f"{one}.shape, {one}.dtype" if one in tensors else f"{one}, {one}.__class__"
        for one in signature.parameters
    ]
    for at, one in enumerate(around):
        scope[f"_place_{at}"] = one.place
        value = one.code(f"_place_{at}")
        parts.append(f"{value}, {value}.__class__")
    text = (
        f"def {name}({parameters_of(signature, scope)}):\n"
        f"    try:\n"
        f"        run = _find(({', '.join(parts)},))\n"
        f"    except (AttributeError, KeyError, TypeError, ValueError):\n"
        f"        run = None\n"
        f"    if run is None:\n"
        f"        return _missed({', '.join(given)})\n"
        f"    return run({', '.join(tensors)})\n"
    )
    return defined(name, text, scope)


def entry_key(
    bound: dict[str, Any], tensors: Sequence[str], around: Sequence[Watched]
) -> tuple[Any, ...]:
    """The key that such an entry looks up."""
    parts: list[Any] = []
    for name, value in bound.items():
        is_tensor = name in tensors
        parts += [value.shape, value.dtype] if is_tensor else [value, value.__class__]
    for one in around:
        parts += [one.value, one.value.__class__]
    return tuple(parts)
