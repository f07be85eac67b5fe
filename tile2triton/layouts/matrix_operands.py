"""What does not pass lanes: operands that wgmma reads from shared memory, and copies by TMA."""

from dataclasses import dataclass
from math import prod

import numpy as np

from . import machines
from .encoding import Encoding
from .errors import layout_error
from .issues import Issues
from .linear import Indices, LinearLayout
from .nvmma_shared import NvmmaShared


def operand(
    memory: Encoding,
    shape: tuple[int, ...],
    whole: tuple[int, ...],
    bits: int,
    name: str,
    count: int,
) -> Issues:
    """The reads of a matrix unit, each piece once, for `count` instructions of that name."""
    encoding = _swizzled_for_units(memory)
    inner = 0 if encoding.transposed else len(shape) - 1
    outer = len(shape) - 1 - inner
    piece = machines.PIECE_BYTES * 8 // bits
    columns = np.arange(0, shape[inner], piece)
    rows = np.arange(shape[outer]).reshape(-1, machines.ROWS)
    axes = {outer: rows[None, :, :], inner: columns[:, None, None]}
    offsets = _offsets(encoding.linear(whole), [axes[axis] for axis in range(len(shape))])
    addresses = (offsets * bits // 8).reshape(-1, 1, machines.ROWS)
    return Issues(machines.matrix_operand(name), addresses, count)


@dataclass(frozen=True)
class Boxes:
    """Copies by TMA: `count` of them, which write or read whole rows of banks."""

    count: int
    bytes: int

    @property
    def total(self) -> int:
        return self.count

    @property
    def ideal(self) -> int:
        return max(1, self.bytes // 128)

    @property
    def simulated(self) -> int:
        return self.ideal


def boxes(memory: Encoding, shape: tuple[int, ...], bits: int) -> Boxes:
    """The copies by TMA of a whole tensor."""
    box = _swizzled_for_units(memory).box(shape)
    return Boxes(prod(shape) // prod(box), prod(shape) * bits // 8)


def _swizzled_for_units(memory: Encoding) -> NvmmaShared:
    if not isinstance(memory, NvmmaShared):
        raise layout_error(
            "T2T931",
            "TMA and wgmma take buffers in their own layout only",
            type(memory).__name__,
            hint="#ttg.nvmma_shared",
        )
    return memory


def _offsets(storage: LinearLayout, coordinates: list[Indices]) -> Indices:
    """The offsets of elements with these coordinates, which broadcast."""
    names = storage.output_names
    inputs = tuple(
        (
            name,
            tuple(
                tuple(1 << bit if other == name else 0 for other in names)
                for bit in range(size.bit_length() - 1)
            ),
        )
        for name, size in storage.outputs
    )
    places = LinearLayout(inputs, storage.outputs).after_inverse_of(storage)
    found = places(**dict(zip(names, coordinates, strict=True)))
    return found[places.output_names.index("offset")]
