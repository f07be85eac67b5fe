"""Element types as users write them: `T.float16`, `"float16"`, `torch.float16`, all the same."""

from __future__ import annotations

import difflib
from typing import Any

from rewrites import dtypes
from tile2triton.frontend.failures import failure


class DType(str):
    """An element type. It is its name, and calling it casts: `T.float16(x)`."""

    __slots__ = ()

    def __new__(cls, name: Any = "float32") -> DType:
        return str.__new__(cls, dtype_name(name))

    def __call__(self, value: Any = 0) -> Any:
        from tile2triton.frontend.operators import cast

        return cast(value, self)

    def __eq__(self, other: object) -> bool:
        return str(self) == _canonical(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    # Hashing is part of every call of an eager kernel, so it stays in C.
    __hash__ = str.__hash__

    def __repr__(self) -> str:
        return f"T.{self}"

    @property
    def bits(self) -> int:
        return dtypes.bits(str(self))

    @property
    def bytes(self) -> int:
        return self.bits // 8

    def as_torch(self) -> Any:
        """The type in torch, which must be installed."""
        import torch

        return getattr(torch, dtypes.BY_NAME[str(self)].torch)


def dtype_name(value: Any) -> str:
    """The one name of an element type in any of its spellings; an error where there is none."""
    name = _canonical(value)
    if name in dtypes.BY_NAME:
        return name
    known = [*dtypes.BY_NAME, *dtypes.ALIASES]
    close = difflib.get_close_matches(str(name), known, 1)
    raise failure(
        "T2T202",
        f"`{value}` is no element type",
        hint=f'did you mean "{close[0]}"?' if close else f"use one of {', '.join(dtypes.BY_NAME)}",
    )


def is_dtype(value: Any) -> bool:
    """Whether the value is an element type object: ours or torch's, which is known by its text."""
    return isinstance(value, DType) or (
        type(value).__name__ == "dtype" and _canonical(value) in dtypes.BY_NAME
    )


def _canonical(value: object) -> str:
    name = str.__str__(value) if isinstance(value, str) else str(value)
    name = name.removeprefix("torch.")
    return dtypes.ALIASES.get(name, name)


OBJECTS = {name: DType(name) for name in (*dtypes.BY_NAME, *dtypes.ALIASES)}
