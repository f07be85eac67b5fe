"""The memory that a launch may touch: its tensor arguments, each with its bounds."""

import ctypes
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .numbers import Array
from .values import DescriptorValue

# Guards read-modify-write; launches in other threads may share a tensor.
_ATOMICS = threading.RLock()

# An H200 stops with an illegal instruction where a tensor map's block begins elsewhere.
DESCRIPTOR_ALIGNMENT = 16


class OutOfBoundsError(Exception):
    """An access outside every tensor argument of the launch."""


@dataclass(frozen=True)
class Region:
    """The bytes of one tensor argument, from its first element to its last."""

    name: str
    start: int
    data: Array

    @property
    def stop(self) -> int:
        return self.start + self.data.size

    def typed(self, dtype: np.dtype[Any]) -> Array:
        whole = self.data.size // dtype.itemsize * dtype.itemsize
        return self.data[:whole].view(dtype)


def region_of(name: str, tensor: Any) -> Region | None:
    """The region of a CPU tensor, or None if it has no elements."""
    if tensor.numel() == 0:
        return None
    last = sum(
        (size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True)
    )
    count = (last + 1) * tensor.element_size()
    start = tensor.data_ptr()
    return Region(name, start, np.ctypeslib.as_array((ctypes.c_uint8 * count).from_address(start)))


class Memory:
    """Loads, stores and atomics by address, refused outside the launch's tensors."""

    def __init__(self, regions: list[Region]) -> None:
        self.regions = regions
        # Whether the kernel makes pointers of numbers, which may lead anywhere.
        self.is_open = False

    def load(self, addresses: Array, mask: Array | None, other: Array | None, dtype: Any) -> Array:
        """The elements at `addresses`; where the mask is off `other`, or zero."""
        if mask is None or mask.all():
            return self._read(addresses, dtype)
        fill = np.zeros((), dtype) if other is None else other
        result = np.array(np.broadcast_to(fill, addresses.shape), dtype)
        mask = np.broadcast_to(mask, addresses.shape)
        result[mask] = self._read(addresses[mask], dtype)
        return result

    def store(self, addresses: Array, values: Array, mask: Array | None) -> None:
        """Write `values` where the mask is on."""
        values = np.broadcast_to(values, addresses.shape)
        if mask is not None and not mask.all():
            mask = np.broadcast_to(mask, addresses.shape)
            addresses, values = addresses[mask], values[mask]
        for region, where in self._regions(addresses, values.dtype):
            index = _index(region, addresses[where], values.dtype)
            region.typed(values.dtype)[index] = values[where]

    def update(
        self,
        addresses: Array,
        values: Array,
        mask: Array,
        combine: Callable[[Array, Array], Array],
    ) -> Array:
        """Replace each element by `combine(old, value)`, one after the other; the old elements."""
        addresses, values, mask = np.broadcast_arrays(addresses, values, mask)
        with _ATOMICS:
            active = addresses[mask]
            if active.size == np.unique(active).size:
                old = self.load(addresses, mask, None, values.dtype)
                self.store(addresses, combine(old, values), mask)
                return old
            old = np.zeros(addresses.shape, values.dtype)
            for where in zip(*np.nonzero(mask), strict=True):
                address = np.asarray(addresses[where])
                before = self.load(address, None, None, values.dtype)
                self.store(address, combine(before, np.asarray(values[where])), None)
                old[where] = before
            return old

    def _read(self, addresses: Array, dtype: Any) -> Array:
        result = np.empty(addresses.shape, dtype)
        for region, where in self._regions(addresses, dtype):
            result[where] = region.typed(dtype)[_index(region, addresses[where], dtype)]
        return result

    def _regions(self, addresses: Array, dtype: Any) -> list[tuple[Region, Any]]:
        """Which of the addresses lie in which tensor; usually all in one."""
        if not addresses.size:
            return []
        low, high = int(addresses.min()), int(addresses.max()) + dtype.itemsize
        for region in self.regions:
            if region.start <= low and high <= region.stop:
                return [(region, ...)]
        parts: list[tuple[Region, Any]] = []
        left = np.ones(addresses.shape, bool)
        for region in self.regions:
            within = (addresses >= region.start) & (addresses <= region.stop - dtype.itemsize)
            if (left & within).any():
                parts.append((region, left & within))
                left &= ~within
        if left.any() and self.is_open:
            parts.append((_anywhere(addresses[left], dtype), left))
        elif left.any():
            raise OutOfBoundsError(self._describe(int(addresses[left].flat[0]), dtype))
        return parts

    def _describe(self, address: int, dtype: Any) -> str:
        if not self.regions:
            return "the launch has no tensor with elements to access"
        near = min(self.regions, key=lambda r: max(r.start - address, address - r.stop, 0))
        count = near.data.size // dtype.itemsize
        offset = (address - near.start) // dtype.itemsize
        return (
            f"an unmasked access lies outside every tensor: nearest is `{near.name}`, "
            f"element {offset} of {count}"
        )


def _anywhere(addresses: Array, dtype: Any) -> Region:
    """The memory that addresses span, which nobody checks."""
    start = int(addresses.min())
    count = int(addresses.max()) + dtype.itemsize - start
    return Region(
        "memory", start, np.ctypeslib.as_array((ctypes.c_uint8 * count).from_address(start))
    )


def block_addresses(
    descriptor: DescriptorValue, offsets: tuple[int, ...], itemsize: int
) -> tuple[Array, Array]:
    """The addresses of a descriptor's block at `offsets`, and which of them are in bounds."""
    if offsets[-1] * itemsize % DESCRIPTOR_ALIGNMENT:
        raise ValueError(
            f"a descriptor's block begins at element {offsets[-1]} of a row, "
            f"which is no multiple of {DESCRIPTOR_ALIGNMENT} bytes"
        )
    addresses = np.asarray(descriptor.address, np.uint64)
    mask = np.ones((), bool)
    rank = len(descriptor.block)
    for axis, (start, extent) in enumerate(zip(offsets, descriptor.block, strict=True)):
        along = [1] * rank
        along[axis] = extent
        index = (start + np.arange(extent, dtype=np.int64)).reshape(along)
        step = index * (descriptor.strides[axis] * itemsize)
        addresses = addresses + step.astype(np.uint64)
        mask = mask & (index >= 0) & (index < descriptor.shape[axis])
    return addresses, np.broadcast_to(mask, addresses.shape)


def _index(region: Region, addresses: Array, dtype: Any) -> Array:
    offset = addresses - np.uint64(region.start)
    if dtype.itemsize > 1 and (offset % np.uint64(dtype.itemsize)).any():
        raise OutOfBoundsError(f"an access to `{region.name}` is not aligned to its elements")
    return (offset // np.uint64(dtype.itemsize)).astype(np.int64)
