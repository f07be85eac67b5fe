"""Values as text that is the same in every process: what stored results are found by."""

from __future__ import annotations

import enum
import inspect
import re
from collections.abc import Mapping
from typing import Any

# Where `repr` gives an address, the same object reads otherwise in the next process.
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def described(value: Any) -> str:
    """A text that tells the value apart from others of its kind."""
    if isinstance(value, Mapping):
        items = (f"{described(key)}: {described(item)}" for key, item in value.items())
        return "{" + ", ".join(items) + "}"
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__}({', '.join(map(described, value))})"
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if hasattr(value, "stride") and hasattr(value, "dtype"):
        return f"tensor({tuple(value.shape)}, {tuple(value.stride())}, {value.dtype})"
    if inspect.isroutine(value) or inspect.isclass(value):
        return source_of(value)
    return f"{type(value).__name__} {_ADDRESS.sub('', repr(value))}"


def source_of(function: Any) -> str:
    """A function's text, with the plain values that it closes over."""
    name = getattr(function, "__qualname__", type(function).__name__)
    try:
        text = inspect.getsource(function)
    except (OSError, TypeError):
        text = ""
    try:
        closed = inspect.getclosurevars(function).nonlocals
    except (TypeError, ValueError):
        closed = {}
    plain = {
        key: item
        for key, item in closed.items()
        if item is None or isinstance(item, (bool, int, float, str))
    }
    return f"{name} {text} {plain}"
