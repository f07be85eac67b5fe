"""Elements of arrays at indices that are arrays; outside of an extent there are zeros."""

from typing import Any

import numpy as np


def elements(array: Any, indices: tuple[Any, ...]) -> Any:
    """`array[indices]`, where arrays that are indices stand side by side."""
    is_array = [isinstance(index, np.ndarray) for index in indices]
    if not any(is_array):
        return array[indices]
    # Numbers and slices first, so that they have no part in the arrays' dimensions.
    plain = [slice(None) if own else index for index, own in zip(indices, is_array, strict=True)]
    rest = array[tuple(plain)]
    complete: list[Any] = []
    given = sum(index is not None and index is not ... for index in indices)
    for index in indices:
        if index is ...:
            complete += [slice(None)] * (array.ndim - given)
        elif not isinstance(index, (int, np.integer)):
            complete.append(index if isinstance(index, np.ndarray) else slice(None))
    inside: Any = True
    for at, index in enumerate(complete):
        if isinstance(index, np.ndarray):
            within = (index >= 0) & (index < rest.shape[at])
            inside = inside & within
            complete[at] = np.where(within, index, 0)
    made = rest[tuple(complete)]
    first = next(at for at, index in enumerate(complete) if isinstance(index, np.ndarray))
    behind = made.ndim - np.ndim(inside) - first
    return np.where(np.reshape(inside, np.shape(inside) + (1,) * behind), made, 0)


def along(array: Any, index: Any, axis: int) -> Any:
    """The elements at indices along an axis; other dimensions are broadcast."""
    shape = list(np.broadcast_shapes(_without(array, axis), _without(index, axis)))
    wide = np.broadcast_to(array, _with(shape, axis, array))
    chosen = np.broadcast_to(index, _with(shape, axis, index))
    within = (chosen >= 0) & (chosen < array.shape[axis])
    made = np.take_along_axis(wide, np.where(within, chosen, 0).astype(np.int64), axis)
    return np.where(within, made, 0)


def _without(array: Any, axis: int) -> tuple[int, ...]:
    shape = list(array.shape)
    shape[axis] = 1
    return tuple(shape)


def _with(shape: list[int], axis: int, array: Any) -> tuple[int, ...]:
    wide = list(shape)
    wide[axis] = array.shape[axis]
    return tuple(wide)
