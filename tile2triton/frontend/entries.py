"""Functions with the parameters of a user's, made as code so that a call of them costs little."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tile2triton.frontend.positions import ENTRIES

Launcher = Callable[..., Any]


def parameters_of(signature: inspect.Signature, scope: dict[str, Any]) -> str:
    """The text of the parameters; their defaults become names in `scope`."""
    parts: list[str] = []
    before = None
    for name, parameter in signature.parameters.items():
        if before is parameter.POSITIONAL_ONLY and parameter.kind is not before:
            parts.append("/")
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        before = parameter.kind
        if parameter.default is parameter.empty:
            parts.append(name)
        else:
            scope[f"_default_{name}"] = parameter.default
            parts.append(f"{name}=_default_{name}")
    if before is inspect.Parameter.POSITIONAL_ONLY:
        parts.append("/")
    return ", ".join(parts)


def defined(name: str, text: str, scope: dict[str, Any]) -> Launcher:
    """The function of that name that the text defines."""
    exec(compile(text, f"{ENTRIES}{name}>", "exec"), scope)
    return scope[name]  # type: ignore[no-any-return]
