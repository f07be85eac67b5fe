"""What `break`, `continue` and `return` mean; in T.Parallel each iteration jumps by itself."""

import ast
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tile2triton.reference.errors import UnsupportedError
from tile2triton.reference.memory import Mask
from tile2triton.reference.values import Value

if TYPE_CHECKING:
    from tile2triton.reference.state import State


class LeftError(Exception):
    """A jump of the whole program, on its way to the loop or the kernel that it leaves."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


@dataclass
class Loop:
    """A loop that runs. In T.Parallel, `broken` and `skipped` say which iterations left it."""

    state: "State"
    is_parallel: bool = False
    broken: Mask = None
    skipped: Mask = None

    @property
    def left(self) -> Mask:
        """The iterations that the rest of this turn does not concern."""
        return _either(self.broken, self.skipped)

    def turn(self, run: Callable[[], None], condition: Value) -> bool:
        """One turn, where `condition` holds; whether another may follow."""
        self.skipped = None
        kept = condition
        if self.broken is not None:
            kept = np.logical_and(condition, np.logical_not(self.broken))
        try:
            with self.state.where(kept) if np.ndim(kept) else nullcontext():
                run()
        except LeftError as left:
            if left.kind == "return":
                raise
            return left.kind == "continue"
        return self.broken is None or not bool(np.all(self.broken))

    def leave(self, kind: str, mask: Mask) -> None:
        here = np.True_ if mask is None else mask
        if kind == "break":
            self.broken = _either(self.broken, here)
        else:
            self.skipped = _either(self.skipped, here)


def jump(statement: ast.stmt, state: "State") -> None:
    """Carry out a `break`, `continue` or `return`."""
    kind = type(statement).__name__.lower()
    if not state.is_parallel:
        raise LeftError(kind)
    loop = state.loops[-1]
    if kind == "return" or (kind == "break" and loop.is_parallel):
        raise UnsupportedError(statement, f"`{kind}` cannot leave T.Parallel.")
    loop.leave(kind, state.mask)


def _either(first: Mask, second: Mask) -> Mask:
    if first is None or second is None:
        return second if first is None else first
    return np.logical_or(first, second)
