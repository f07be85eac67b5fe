"""Names of TVM's that kernels use here and there, and that are something else's short form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tile2triton.frontend.loops import Loop
from tile2triton.frontend.operators import call
from tile2triton.schedule import annotation


def parallel(
    start: Any = None, stop: Any = None, *, annotations: Any = None, block: Any = None
) -> Any:
    """T.Parallel over one range, which need not start at 0; with `block`, the threads of a block.

    `@T.parallel(block=(128, 1))` above a function is an annotation of its schedule.
    """
    if block is not None:
        return annotation("parallel", (), {"block": block})
    extent = start if stop is None else stop - start
    loop: Loop = call("Parallel", (extent,), {})
    loop.first = 0 if stop is None else start
    return loop


def bind(value: Any, type_annotation: Any = None, *, var: Any = None) -> Any:
    """The value itself: a name that it is assigned to is a let."""
    return value


def evaluate(value: Any) -> None:
    """What computing a value does, which is nothing: operators that act stand as statements."""


def index_to_coordinates(index: Any, shape: Sequence[Any]) -> list[Any]:
    """The coordinates of the element that has this number, the last dimension being the fastest."""
    coordinates: list[Any] = []
    for extent in reversed(shape):
        coordinates.insert(0, index % extent)
        index = index // extent
    return coordinates
