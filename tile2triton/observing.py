"""Who follows the making and launching of kernels in this process, as `tile2triton check` does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from tile2triton.diagnostics import TileError

if TYPE_CHECKING:
    from tile2triton.frontend.compiled import CompiledKernel


class Observer(Protocol):
    """Sees each kernel once it is made or refused, and says what launching it runs."""

    @property
    def targets(self) -> Sequence[str]: ...

    @property
    def compiles(self) -> bool:
        """Whether kernels are compiled, and not transpiled only."""

    def made(self, kernel: CompiledKernel) -> None: ...

    def refused(self, name: str, error: TileError) -> None: ...

    def load(self, kernel: CompiledKernel) -> Callable[..., Any]: ...


_observer: Observer | None = None


def observer() -> Observer | None:
    return _observer


@contextmanager
def observed_by(one: Observer | None) -> Iterator[None]:
    """Let `one`, or nobody, see every kernel that is made meanwhile, on any thread."""
    global _observer
    before, _observer = _observer, one
    try:
        yield
    finally:
        _observer = before


@contextmanager
def refusals_of(name: str) -> Iterator[None]:
    """Tell the observer of an error on its way to the user, who may catch it."""
    try:
        yield
    except TileError as error:
        if _observer is not None:
            _observer.refused(name, error)
        raise
