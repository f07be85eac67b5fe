"""What a call of a tuned kernel runs, made as code so that it costs little."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from tile2triton.frontend.cache_keys import are_told_by_type
from tile2triton.frontend.entries import Launcher, defined, parameters_of


class _NotGiven:
    """Stands for what a call leaves to the kernel, or to tuning."""


NOT_GIVEN = _NotGiven()


def tuned_entry(
    name: str,
    signature: inspect.Signature,
    tensors: Sequence[str],
    find: Callable[[Hashable], Launcher | None],
    missed: Launcher,
) -> Launcher:
    """The user's parameters, then a look-up by the tensors' layouts and the values of all others.

    `missed` gets the key of a call, or None where it has none, its arguments by parameter, and what
    is left of them.
    """
    left_out = [one.replace(default=NOT_GIVEN) for one in signature.parameters.values()]
    scope: dict[str, Any] = {"_find": find, "_missed": missed}
    parameters = parameters_of(signature.replace(parameters=left_out), scope)
    # To Python 1, 1.0 and True are equal keys.
    parts = [
        f"{one}.shape, {one}.stride(), {one}.dtype" if one in tensors else f"{one}, {one}.__class__"
        for one in signature.parameters
    ]
    given = ", ".join(f"{one!r}: {one}" for one in signature.parameters)
    text = (
        f"def {name}({parameters}, *_rest, **_more):\n"
        f"    _key = _run = None\n"
        f"    if not _rest and not _more:\n"
        f"        try:\n"
        f"            _key = ({', '.join(parts)},)\n"
        f"            _run = _find(_key)\n"
        f"        except (AttributeError, RuntimeError, TypeError):\n"
        f"            _key = None\n"
        f"    if _run is None:\n"
        f"        return _missed(_key, {{{given}}}, _rest, _more)\n"
        f"    return _run({', '.join(tensors)})\n"
    )
    return defined(name, text, scope)


def has_entry(signature: inspect.Signature) -> bool:
    """Whether each parameter is a usual one, whose name is none of the entry's own."""
    return all(
        one.kind is one.POSITIONAL_OR_KEYWORD and not name.startswith("_")
        for name, one in signature.parameters.items()
    )


def given_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that a call gives."""
    return {name: value for name, value in arguments.items() if value is not NOT_GIVEN}


def is_kept(arguments: Mapping[str, Any], tensors: Sequence[str]) -> bool:
    """Whether the key of a call says all of its arguments that kernels are told apart by."""
    return are_told_by_type([value for name, value in arguments.items() if name not in tensors])
