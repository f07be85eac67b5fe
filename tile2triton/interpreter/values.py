"""What Triton's semantic rules handle in place of IR values: NumPy arrays with a Triton type."""

from dataclasses import dataclass, field
from typing import Any

from .numbers import Array


@dataclass(frozen=True, slots=True)
class Value:
    """One value of a kernel: the data, in its own NumPy dtype, and the Triton scalar type.

    Nothing writes into `data`, so that views can be shared.
    """

    data: Array
    dtype: Any


@dataclass(frozen=True, slots=True)
class DescriptorValue:
    """A tensor descriptor: where its tensor lies, and the block that it moves."""

    address: int
    element: Any
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    block: tuple[int, ...]
    pads_with_nan: bool = field(default=False)
    rounds_to_tf32: bool = field(default=False)
