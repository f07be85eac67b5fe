"""Layout objects, which hints hold and which change nothing in what is emitted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Layout:
    """Where the elements of a buffer lie, as `T.annotate_layout` takes it."""

    def __init__(self, shape: Any, forward_fn: Callable[..., Any] | None = None) -> None:
        self.shape = shape
        self.forward_fn = forward_fn


class Fragment(Layout):
    """Which thread holds which element of a tile."""

    def __init__(
        self, shape: Any, forward_fn: Callable[..., Any] | None = None, **details: Any
    ) -> None:
        super().__init__(shape, forward_fn)
        self.details = details
