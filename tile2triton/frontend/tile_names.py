"""Tiles of a macro that is over leave their names to equal tiles of its next inlining."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tile2triton.frontend.builder import Block, Builder
    from tile2triton.frontend.values import Buffer


@dataclass(frozen=True)
class _Named:
    name: str
    # The user's name, the scope, the element type and the extents.
    kind: tuple[str, ...]
    buffer: weakref.ref[Buffer]
    # The loops that it was declared in: there, its memory is the same in every turn.
    loops: tuple[Block, ...]


class TileNames:
    """Which tiles have which names, and which of those are free again."""

    def __init__(self) -> None:
        self._used: list[_Named] = []
        self._free: list[_Named] = []

    def claim(self, kind: tuple[str, ...], builder: Builder, may_share: bool) -> str:
        """The name of an earlier tile of this kind that nothing can refer to, or else a new one."""
        for one in self._free if may_share else ():
            if one.kind == kind and not any(loop.is_open for loop in one.loops):
                self._free.remove(one)
                return one.name
        return builder.names.claim(kind[0])

    def add(
        self,
        name: str,
        kind: tuple[str, ...],
        buffer: weakref.ref[Buffer],
        blocks: Sequence[Block],
    ) -> None:
        loops = tuple(block for block in blocks if block.kind == "loop")
        self._used.append(_Named(name, kind, buffer, loops))

    def mark(self) -> int:
        """How many tiles there are, to be given to `release`."""
        return len(self._used)

    def release(self, mark: int) -> None:
        """A macro is over: of the tiles since its start, those that no object holds are free."""
        since, self._used[mark:] = self._used[mark:], []
        for one in since:
            (self._free if one.buffer() is None else self._used).append(one)
