"""The functions that a call of an eager kernel runs, made as code so that they cost little."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from tile2triton.frontend.declarations import Probe
from tile2triton.frontend.dynamic import Dynamic
from tile2triton.frontend.eager_declarations import Declarations
from tile2triton.frontend.entries import Launcher, defined, parameters_of


def entry_of(
    name: str,
    signature: inspect.Signature,
    statics: Sequence[str],
    tensors: Sequence[str],
    find: Callable[..., Launcher | None],
    plan: Callable[..., Launcher],
) -> Launcher:
    """What a call runs: the user's parameters, then a look-up by the static ones."""
    scope: dict[str, Any] = {"_find": find, "_plan": plan}
    parameters = parameters_of(signature, scope)
    values = "".join(f"{one}, " for one in statics)
    # To Python 1, 1.0 and True are equal keys.
    types = "".join(f"{one}.__class__, " for one in statics)
    text = (
        f"def {name}({parameters}):\n"
        f"    try:\n"
        f"        run = _find(({values}{types}))\n"
        f"    except TypeError:\n"
        f"        run = None\n"
        f"    if run is None:\n"
        f"        run = _plan(({values}))\n"
        f"    return run({', '.join(tensors)})\n"
    )
    return defined(name, text, scope)


def look_up_of_sizes(
    tensors: Sequence[str],
    declarations: Declarations,
    find: Callable[..., Launcher | None],
    made: Launcher,
) -> Launcher:
    """What runs next where there are T.const sizes: a look-up by the tensors' shapes.

    `made` gets the key, or None for arguments that have none, and the tensors.
    """
    given = ", ".join(tensors)
    text = (
        f"def sizes({given}):\n"
        f"    try:\n"
        f"        key = ({_key_of_sizes(declarations)})\n"
        f"    except (AttributeError, IndexError, TypeError):\n"
        f"        return _made(None, {given})\n"
        f"    run = _find(key)\n"
        f"    if run is None:\n"
        f"        return _made(key, {given})\n"
        f"    return run({given})\n"
    )
    return defined("sizes", text, {"_find": find, "_made": made})


def _key_of_sizes(declarations: Declarations) -> str:
    """The key of the look-up as code: whole shapes, the cheapest, where nothing is dynamic."""
    parts = []
    for name in dict.fromkeys(source.parameter for source in declarations.consts.values()):
        sources = [s for s in declarations.consts.values() if s.parameter == name]
        shape = declarations.tensors[name].shape
        is_fixed = not any(isinstance(x, Dynamic) and not isinstance(x, Probe) for x in shape)
        if not is_fixed or any(source.is_stride for source in sources):
            parts += [source.code for source in sources]
        else:
            parts.append(f"{name}.shape")
    return "".join(f"{part}, " for part in parts)
