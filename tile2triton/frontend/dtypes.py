"""Element types as users write them: `T.float16`, `"float16"`, `torch.float16`, all the same."""

from __future__ import annotations

import difflib
from typing import Any

from rewrites import dtypes
from tile2triton.diagnostics import TileError
from tile2triton.frontend import foreign_dtypes
from tile2triton.frontend.failures import failure

_OF_PYTHON: dict[type, str] = {bool: "bool", int: "int32", float: "float32"}


class DType(str):
    """An element type. It is its name, and calling it casts: `T.float16(x)`.

    Types that only TileLang has can be named and compared; `dtype_name` refuses them in a kernel.
    """

    __slots__ = ()

    def __new__(cls, name: Any = "float32") -> DType:
        canonical = _canonical(name)
        is_foreign = foreign_dtypes.foreign_bits(canonical) is not None
        return str.__new__(cls, canonical if is_foreign else dtype_name(name))

    def __call__(self, *values: Any) -> Any:
        from tile2triton.frontend.operators import cast

        dtype_name(self)
        (value,) = values or (0,)
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
        return foreign_dtypes.foreign_bits(str(self)) or dtypes.bits(str(self))

    @property
    def bytes(self) -> int:
        return -(-self.bits // 8)

    @property
    def itemsize(self) -> int:
        return self.bytes

    def is_float4(self) -> bool:
        return str(self).startswith("float4_")

    def is_float4_e2m1fn(self) -> bool:
        return str(self) == "float4_e2m1fn"

    def is_float4_e2m1_unpacked(self) -> bool:
        return str(self) == "float4_e2m1_unpacked"

    def as_torch(self) -> Any:
        """The type in torch, which must be installed."""
        import torch

        return getattr(torch, self.torch_name())

    def torch_name(self) -> str:
        """What torch, which must be installed, calls the type of tensors that hold such values."""
        import torch

        name = str(self)
        row = dtypes.BY_NAME.get(name)
        names = (row.torch,) if row is not None else foreign_dtypes.foreign_torch(name)
        for stored_as in names:
            if hasattr(torch, stored_as):
                return stored_as
        raise failure(
            "T2T611",
            f"torch has no tensors of {name}",
            hint="name the torch type that holds the bits, such as torch.uint8",
        )


def kernel_dtype(value: Any) -> DType:
    """The element type of a tensor, a tile or a scalar; an error where Triton has none such."""
    return DType(dtype_name(value))


def dtype_name(value: Any) -> str:
    """The one name of an element type in any of its spellings; an error where there is none."""
    name = _canonical(value)
    if name in dtypes.BY_NAME:
        return name
    if foreign_dtypes.foreign_bits(name) is not None:
        raise _foreign(name)
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


def _foreign(name: str) -> TileError:
    if foreign_dtypes.is_vector(name):
        return failure(
            "T2T605",
            f"{name} is a vector of one thread, and tiles have single elements",
            hint=f"use {name.rpartition('x')[0]}, and index the elements in T.Parallel",
        )
    stored = next(iter(foreign_dtypes.foreign_torch(name)), "")
    return failure(
        "T2T605",
        f"Triton has no tiles of {name}",
        hint="keep the bits in a tensor of uint8 or int8 and unpack them with shifts"
        + (f" (torch holds them as torch.{stored})" if stored else ""),
    )


def _canonical(value: object) -> str:
    if isinstance(value, type):
        return _OF_PYTHON.get(value, value.__name__)
    name = str.__str__(value) if isinstance(value, str) else str(value)
    name = name.removeprefix("torch.")
    return dtypes.ALIASES.get(name) or foreign_dtypes.ALIASES.get(name, name)


OBJECTS = {name: DType(name) for name in (*dtypes.BY_NAME, *dtypes.ALIASES, *foreign_dtypes.NAMES)}
