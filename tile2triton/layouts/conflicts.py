"""Bank conflicts of one instruction: how often a warp's or wave's lanes go to memory for it.

Shared memory is words of 4 bytes in banks, word w in bank w mod the number of banks. Lanes are
served in fixed groups, the phases. In each phase a bank gives one word at a time, to all lanes that
ask for that word, so that the phase takes as many wavefronts as its busiest bank has different
words.
"""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from .linear import Indices

Phases: TypeAlias = tuple[tuple[int, ...], ...]

_WORD = 4


@dataclass(frozen=True)
class Instruction:
    """An access of `width` bytes a lane; `lanes` of `phases` are served together."""

    name: str
    width: int
    phases: Phases
    banks: int = 32

    def wavefronts(self, addresses: Indices) -> Indices:
        """Wavefronts of each issue; the last axis of `addresses`, in bytes, is lanes."""
        total = np.zeros(addresses.shape[:-1], dtype=np.int64)
        for lanes in self.phases:
            first = addresses[..., list(lanes)] // _WORD
            words = first[..., None] + np.arange(max(1, self.width // _WORD))
            total += _busiest(words.reshape(*first.shape[:-1], -1), self.banks)
        return total

    @property
    def ideal(self) -> int:
        """Wavefronts of an issue without conflicts."""
        return len(self.phases)


def consecutive(lanes: int, together: int) -> Phases:
    """Phases of so many neighbours."""
    return tuple(
        tuple(range(start, start + together)) for start in range(0, lanes, min(together, lanes))
    )


def _busiest(words: Indices, banks: int) -> Indices:
    """The most different words in one bank, for each row along the last axis."""
    rows = np.sort(words.reshape(-1, words.shape[-1]), axis=-1)
    new = np.ones(rows.shape, dtype=bool)
    new[:, 1:] = rows[:, 1:] != rows[:, :-1]
    keys = np.arange(len(rows))[:, None] * banks + rows % banks
    counts = np.bincount(keys[new], minlength=len(rows) * banks).reshape(len(rows), banks)
    most: Indices = counts.max(axis=-1).reshape(words.shape[:-1])
    return most
