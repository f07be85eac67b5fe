"""What a program on whole operands reads from around it: globals, and attributes of objects.

A program has their values in it, so that they are part of what its kernels are kept by: a global
that is another number in a later call is another kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, ModuleType
from typing import Any

from tile2triton.frontend.cache_keys import cache_key
from tile2triton.frontend.dtypes import DType
from tile2triton.frontend.positions import is_users

_PLAIN = (int, bool, str, type(None), DType)
_PACKAGE = __name__.partition(".")[0]


@dataclass(frozen=True, eq=False)
class Watched:
    """A variable of a module or of a function around it."""

    place: dict[str, Any] | CellType
    name: str

    def __eq__(self, other: object) -> bool:
        is_same = isinstance(other, Watched) and self.place is other.place
        return is_same and self.name == other.name  # type: ignore[attr-defined]

    @property
    def value(self) -> Any:
        if isinstance(self.place, CellType):
            return self.place.cell_contents
        return self.place.get(self.name)

    def code(self, place: str) -> str:
        """The value as Python text, where `place` stands for where it is kept."""
        is_cell = isinstance(self.place, CellType)
        return f"{place}.cell_contents" if is_cell else f"{place}[{self.name!r}]"


def watched(function: FunctionType) -> tuple[Watched, ...]:
    """The variables that a function reads, and those that the functions read that it calls."""
    found: list[Watched] = []
    seen: set[int] = set()
    # What the function itself reads from functions around it was captured with it.
    _collect(function, found, seen, with_cells=False)
    return tuple(found)


def _collect(
    function: FunctionType, found: list[Watched], seen: set[int], with_cells: bool = True
) -> None:
    if id(function) in seen:
        return
    seen.add(id(function))
    names = set(_names(function.__code__))
    places = [Watched(function.__globals__, name) for name in sorted(names)]
    places = [one for one in places if one.name in function.__globals__]
    if with_cells:
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        places += [Watched(cell, name) for name, cell in cells if _is_set(cell)]
    for place in places:
        value = place.value
        if isinstance(value, ModuleType):
            if value.__name__.partition(".")[0] != _PACKAGE:
                known = vars(value)
                for name in sorted(names & known.keys()):
                    if type(known[name]) in (*_PLAIN, float):
                        found.append(Watched(known, name))
            continue
        if getattr(type(value), "__module__", "").partition(".")[0] == _PACKAGE:
            # A kernel or a macro, which is traced into this one.
            captured = getattr(value, "captured", None)
            inner = getattr(captured, "function", None)
        else:
            inner = value
        if isinstance(inner, BuiltinFunctionType):
            continue
        if isinstance(inner, FunctionType):
            if not is_users(inner.__code__.co_filename):
                continue
            _collect(inner, found, seen)
        found.append(place)


def _is_set(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _names(code: CodeType) -> Iterator[str]:
    """The names of globals and attributes in a function and in those defined in it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def value_key(value: Any) -> Hashable:
    """A key of a value and, of an object, of all that its attributes hold now."""
    return _key(value, ())


def _key(value: Any, outer: tuple[int, ...]) -> Hashable:
    if not _has_attributes(value) or id(value) in outer:
        return cache_key(value)
    inside = (*outer, id(value))
    kinds = value.__mro__ if isinstance(value, type) else type(value).__mro__
    common = {
        name: item
        for kind in reversed(kinds[:-1])
        for name, item in vars(kind).items()
        if type(item) in (*_PLAIN, float) and not name.startswith("__")
    }
    own = {} if isinstance(value, type) else dict(getattr(value, "__dict__", {}))
    slots = {
        name: getattr(value, name, None)
        for kind in kinds
        for name in getattr(kind, "__slots__", ())
        if not isinstance(value, type)
    }
    attributes = {**common, **slots, **own}
    return (cache_key(value), tuple((name, _key(one, inside)) for name, one in attributes.items()))


def _has_attributes(value: Any) -> bool:
    """Whether an object may change while it stays the same one."""
    if isinstance(value, (*_PLAIN, float, tuple, list, dict)):
        return False
    if isinstance(value, (FunctionType, BuiltinFunctionType, ModuleType)):
        return False
    if getattr(type(value), "__module__", "").partition(".")[0] in (_PACKAGE, "torch", "numpy"):
        return False
    return hasattr(value, "__dict__") or any(hasattr(k, "__slots__") for k in type(value).__mro__)


def is_looked_up_alone(value: Any) -> bool:
    """Whether a dict tells such a value from all others by itself and its type."""
    if isinstance(value, float):
        return value != 0 and value == value
    if isinstance(value, (tuple, list, dict)) or _has_attributes(value):
        return False
    kind = type(value)
    hashes: Callable[..., Any] | None = kind.__hash__
    return kind in _PLAIN or hashes is object.__hash__ or kind.__module__.startswith("torch")
