"""Keys by which kernels are kept: what arguments are equal for a kernel, beyond Python's `==`."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Sequence
from typing import Any

from tile2triton.frontend.dtypes import DType
from tile2triton.frontend.statics import is_number_of_a_library

# Values of these types are told apart by `==` and the type.
_PLAIN = frozenset({int, bool, str, type(None), DType})


@dataclasses.dataclass(frozen=True, eq=False)
class _Same:
    """An object as a key: equal to itself alone, and alive as long as the key is."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def cache_key(value: Any) -> Hashable:
    """A key that tells 1, 1.0 and True apart, and 0.0 and -0.0.

    Tuples, lists, dicts and dataclasses are what they hold. Every other object is itself: its
    attributes are not looked at.
    """
    kind = type(value)
    if isinstance(value, float):
        # As text, because -0.0 is equal to 0.0 and NaN is not equal to itself.
        return (kind, value.hex())
    if value is None or isinstance(value, (int, str)):
        return (kind, value)
    if isinstance(value, (list, tuple)):
        # This may be part of every call, so what is plain costs no call here.
        keys = [(type(item), item) if type(item) in _PLAIN else cache_key(item) for item in value]
        return (kind, tuple(keys))
    if isinstance(value, dict):
        return (kind, tuple((cache_key(key), cache_key(item)) for key, item in value.items()))
    if is_number_of_a_library(value):
        return (kind, cache_key(value.item()))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return (kind, tuple(cache_key(getattr(value, field.name)) for field in fields))
    return _Same(value)


def are_told_by_type(values: Sequence[Any]) -> bool:
    """Whether `==` and the type together say all that `cache_key` does."""
    return all(
        type(value) in _PLAIN
        or (type(value) is float and value != 0 and value == value)
        or _is_only_itself(type(value))
        for value in values
    )


def _is_only_itself(kind: type) -> bool:
    """Whether a dict finds such an object by nothing but its identity."""
    hashes: object = kind.__hash__
    return hashes is object.__hash__ and not dataclasses.is_dataclass(kind)
