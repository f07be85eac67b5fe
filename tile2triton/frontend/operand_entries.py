"""What a call of a kernel on whole operands runs, made as code so that it costs little."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

Launcher = Callable[..., Any]


def operand_entry(
    name: str,
    signature: inspect.Signature,
    tensors: Sequence[str],
    find: Callable[..., Launcher | None],
    missed: Launcher,
) -> Launcher:
    """The user's parameters, then a look-up by shapes, types and the values of all others.

    `missed` gets the arguments of a call whose key is not known, or that has none.
    """
    parameters: list[str] = []
    given: list[str] = []
    scope: dict[str, Any] = {"_find": find, "_missed": missed}
    for one, parameter in signature.parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parameters:
            parameters.append("*")
        if parameter.default is parameter.empty:
            parameters.append(one)
        else:
            scope[f"_default_{one}"] = parameter.default
            parameters.append(f"{one}=_default_{one}")
        given.append(f"{one}={one}" if parameter.kind is parameter.KEYWORD_ONLY else one)
        if parameter.kind is parameter.POSITIONAL_ONLY:
            following = list(signature.parameters.values())[len(given) :]
            if not following or following[0].kind is not parameter.POSITIONAL_ONLY:
                parameters.append("/")
    # To Python 1, 1.0 and True are equal keys.
    parts = [
        f"{one}.shape, {one}.dtype" if one in tensors else f"{one}, {one}.__class__"
        for one in signature.parameters
    ]
    text = (
        f"def {name}({', '.join(parameters)}):\n"
        f"    try:\n"
        f"        run = _find(({', '.join(parts)},))\n"
        f"    except (AttributeError, TypeError):\n"
        f"        run = None\n"
        f"    if run is None:\n"
        f"        return _missed({', '.join(given)})\n"
        f"    return run({', '.join(tensors)})\n"
    )
    exec(compile(text, f"<entry of {name}>", "exec"), scope)
    return scope[name]  # type: ignore[no-any-return]


def entry_key(bound: dict[str, Any], tensors: Sequence[str]) -> tuple[Any, ...]:
    """The key that such an entry looks up."""
    parts: list[Any] = []
    for name, value in bound.items():
        is_tensor = name in tensors
        parts += [value.shape, value.dtype] if is_tensor else [value, value.__class__]
    return tuple(parts)
