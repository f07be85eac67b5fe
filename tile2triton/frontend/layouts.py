"""Layout objects, which hints hold and which change nothing in what is emitted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

from tile2triton.frontend.failures import failure


class Layout:
    """Where the elements of a buffer lie, as `T.annotate_layout` takes it.

    What is made of one layout (`repeat`, `expand`, `inverse`, …) is a hint as well. Only the index
    that a layout's own function gives can be asked for.
    """

    def __init__(self, shape: Any, forward_fn: Callable[..., Any] | None = None) -> None:
        self.shape = shape
        self.forward_fn = forward_fn
        # What made it, as the user writes it.
        self.maker = f"{type(self).__name__}(…)"

    def get_input_shape(self) -> list[Any]:
        """The extents of the buffer."""
        return list(self.shape) if isinstance(self.shape, (list, tuple)) else [self.shape]

    def map_forward_index(self, indices: Sequence[Any]) -> Any:
        """Where the element with these indices lies."""
        if self.forward_fn is None:
            raise failure(
                "T2T508",
                "the layout is a hint: where its elements lie is the compiler's to choose",
                hint="give the layout a function: T.Layout(shape, lambda i, j: ...)",
            )
        index = self.forward_fn(*indices)
        return list(index) if isinstance(index, (list, tuple)) else [index]

    def __call__(self, *indices: Any) -> Any:
        return self.map_forward_index(indices)

    def repeat(self, *arguments: Any, **keywords: Any) -> Self:
        return self._changed()

    def expand(self, *arguments: Any, **keywords: Any) -> Self:
        return self._changed()

    def reshape(self, *arguments: Any, **keywords: Any) -> Self:
        return self._changed()

    def inverse(self) -> Self:
        return self._changed()

    def _changed(self) -> Self:
        """A layout that is a hint and no more."""
        return type(self)(self.shape)


class Fragment(Layout):
    """Which thread holds which element of a tile."""

    def __init__(
        self, shape: Any, forward_fn: Callable[..., Any] | None = None, **details: Any
    ) -> None:
        super().__init__(shape, forward_fn)
        self.details = details

    def replicate(self, replicate: int) -> Self:
        return self._changed()

    def condense_rep_var(self) -> Self:
        return self._changed()
