"""Where in shared memory the registers of a tensor go: byte addresses for lanes and warps."""

import functools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from .encoding import Encoding
from .linear import Indices, LinearLayout
from .padded_shared import PaddedShared


@dataclass(frozen=True)
class Placement:
    """`offsets` leads from registers, lanes and warps to offsets in elements.

    `start` is the offset of a view's first element. It has other bits than the offsets within the
    view, so that it is added by XOR.
    """

    offsets: LinearLayout
    memory: Encoding
    bits: int
    start: int = 0

    def images(self, source: str) -> tuple[int, ...]:
        """The offsets of 1, 2, 4, … along an input."""
        place = self.offsets.output_names.index("offset")
        return tuple(basis[place] for basis in self.offsets.bases(source))

    def addresses(self, registers: Iterable[int], lanes: Iterable[int]) -> Indices:
        """Byte addresses with axes registers, warps, lanes."""
        axes = np.ix_(
            np.array([*registers], dtype=np.int64),
            np.arange(self.offsets.input_size("warp")),
            np.array([*lanes], dtype=np.int64),
        )
        place = self.offsets.output_names.index("offset")
        offsets = self.offsets(register=axes[0], warp=axes[1], lane=axes[2])[place] ^ self.start
        if isinstance(self.memory, PaddedShared):
            offsets = self.memory.padded(offsets)
        return offsets * self.bits // 8

    def clear_below(self, bits: int, apart_from: Iterable[tuple[str, int]]) -> bool:
        """Whether all but the named inputs' bits leave so many low bits of offsets alone."""
        named = set(apart_from)
        low = (1 << bits) - 1
        return not self.start & low and not any(
            image & low
            for source in self.offsets.input_names
            for bit, image in enumerate(self.images(source))
            if (source, bit) not in named
        )


def place(
    registers: Encoding,
    memory: Encoding,
    shape: tuple[int, ...],
    bits: int,
    whole: tuple[int, ...] | None = None,
    corner: tuple[int, ...] | None = None,
) -> Placement:
    """Where a tensor of `shape` goes in a buffer, or in the view at `corner` of a `whole` one."""
    storage = _linear(memory, whole or shape)
    held = _linear(registers, shape)
    held = LinearLayout(held.inputs, storage.outputs)
    offsets = held.after_inverse_of(storage)
    return Placement(offsets, memory, bits, _start(storage, corner))


@functools.lru_cache(maxsize=256)
def _linear(encoding: Encoding, shape: tuple[int, ...]) -> LinearLayout:
    """Inference asks for the same ones again and again."""
    return encoding.linear(shape)


def _start(storage: LinearLayout, corner: tuple[int, ...] | None) -> int:
    if corner is None or not any(corner):
        return 0
    point = LinearLayout((("point", (corner,)),), storage.outputs).after_inverse_of(storage)
    return point.bases("point")[0][point.output_names.index("offset")]


def combinations(bits: Iterable[int]) -> list[int]:
    """All numbers that have no other bits than these, by number."""
    numbers = [0]
    for bit in sorted(bits):
        numbers += [number | 1 << bit for number in numbers]
    return sorted(numbers)
