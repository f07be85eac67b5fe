"""Reductions and scans along an axis, with any combining function."""

from typing import Any, Protocol

import numpy as np
import triton.language as tl

from .numbers import Array, convert, widen
from .semantic import Tensor, semantic
from .values import Value

Tensors = tuple[Tensor, ...]


class Combine(Protocol):
    """A device function; `fn` is the Python function that it was made from."""

    fn: Any

    def __call__(self, *operands: Tensor) -> Any: ...


def reduce(input: Any, axis: Any, combine_fn: Combine, keep_dims: Any = False) -> Any:
    """`tl.reduce`: neighbours are combined first, so order is kept for functions that need it."""
    if isinstance(input, Tensor):
        return reduce((input,), axis, combine_fn, keep_dims)[0]
    inputs = tuple(input)
    rank = len(inputs[0].type.shape)
    if axis is None:
        inputs = tuple(semantic.reshape(item, [item.numel.value], True) for item in inputs)
    along = 0 if axis is None else _normal(axis, rank)
    results = _reduced(inputs, along, combine_fn)
    if not keep_dims:
        return results
    kept = [1] * rank if axis is None else _with_one(inputs[0].type.shape, along)
    return tuple(_shaped(result.handle.data.reshape(kept), result) for result in results)


def reduce_with_indices(
    input: Tensor, axis: Any, combine_fn: Combine, keep_dims: Any = False
) -> Any:
    """A reduction that also carries each element's index along the axis."""
    shape = input.type.shape
    along = _normal(axis, len(shape))
    order = [1] * len(shape)
    order[along] = shape[along]
    index = np.broadcast_to(np.arange(shape[along], dtype=np.int32).reshape(order), shape)
    indices = Tensor(Value(index, tl.int32), tl.block_type(tl.int32, shape))
    return reduce((input, indices), along, combine_fn, keep_dims)


def scan(input: Any, axis: Any, combine_fn: Combine, reverse: Any = False) -> Any:
    """`tl.associative_scan`: each element combined with all before it."""
    if isinstance(input, Tensor):
        return scan((input,), axis, combine_fn, reverse)[0]
    inputs = tuple(input)
    along = _normal(axis, len(inputs[0].type.shape))
    length = inputs[0].type.shape[along]
    order = range(length - 1, -1, -1) if reverse else range(length)
    parts: list[Tensors] = []
    for position in order:
        part = tuple(_take(item, along, position) for item in inputs)
        parts.append(part if not parts else _combined(combine_fn, parts[-1], part))
    if reverse:
        parts.reverse()
    return tuple(
        _shaped(np.stack([part[index].handle.data for part in parts], along), item)
        for index, item in enumerate(inputs)
    )


def _reduced(inputs: Tensors, axis: int, combine_fn: Combine) -> Tensors:
    whole = _WHOLE.get(combine_fn.fn)
    if whole is not None:
        return tuple(_shaped(_along_axis(whole, i.handle.data, axis), i) for i in inputs)
    while inputs[0].type.shape[axis] > 1:
        evens = tuple(_take(item, axis, slice(0, None, 2)) for item in inputs)
        odds = tuple(_take(item, axis, slice(1, None, 2)) for item in inputs)
        inputs = _combined(combine_fn, evens, odds)
    return tuple(_take(item, axis, 0) for item in inputs)


def _combined(combine_fn: Combine, left: Tensors, right: Tensors) -> Tensors:
    result = combine_fn(*left, *right)
    results = (result,) if isinstance(result, Tensor) else tuple(result)
    for made, given in zip(results, left, strict=True):
        if made.dtype != given.dtype:
            raise TypeError(f"a combining function turned {given.dtype} into {made.dtype}")
    return results


def _take(item: Tensor, axis: int, position: Any) -> Tensor:
    index = (slice(None),) * axis + (position,)
    return _shaped(item.handle.data[index], item)


def _shaped(data: Any, like: Tensor) -> Tensor:
    data = np.asarray(data)
    made = tl.block_type(like.dtype, list(data.shape)) if data.ndim else like.dtype
    return Tensor(Value(data, like.dtype), made)


def _normal(axis: Any, rank: int) -> int:
    position = axis.value if isinstance(axis, tl.constexpr) else axis
    if not -rank <= position < rank:
        raise ValueError(f"axis {position} of a block of rank {rank}")
    return int(position) % rank


def _with_one(shape: Any, axis: int) -> list[int]:
    return [1 if position == axis else extent for position, extent in enumerate(shape)]


# Combining functions of Triton's library that NumPy applies along an axis at once; float16 and
# bfloat16 sums are kept in float32 and rounded at the end. `fmax` skips NaN, as `tl.max` does.
_WHOLE: dict[Any, Any] = {
    tl.standard._sum_combine.fn: np.add,
    tl.standard._elementwise_max.fn: np.fmax,
    tl.standard._elementwise_min.fn: np.fmin,
}


def _along_axis(function: Any, data: Array, axis: int) -> Array:
    wide = data.astype(np.float32) if data.dtype == np.float16 else widen(data)
    return convert(np.asarray(function.reduce(wide, axis=axis)), data.dtype)
