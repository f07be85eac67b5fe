"""What Gluon's names mean without a GPU: on arrays, or on tiles of which nothing is computed."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from tile2triton.simulation.machine import Barrier, Machine, ProtocolError, Slot

TYPES = {
    "float16": np.float16,
    "float32": np.float32,
    "int32": np.int32,
    "int64": np.int64,
    # NumPy has none; only what is stored and loaded is rounded to it elsewhere.
    "bfloat16": np.float32,
    "float8e4nv": np.float32,
    "float8e5": np.float32,
}


class Tile:
    """A tile in registers; without data nothing of it is computed."""

    def __init__(self, data: Any = None) -> None:
        self.data = data

    def to(self, kind: Any) -> Tile:
        return Tile(None if self.data is None else self.data.astype(kind))

    def permute(self, order: Sequence[int]) -> Tile:
        return Tile(None if self.data is None else self.data.transpose(order))

    def __neg__(self) -> Tile:
        return applied(operator.neg, self)

    def __invert__(self) -> Tile:
        return applied(operator.invert, self)

    def __getitem__(self, index: Any) -> Tile:
        return Tile(None if self.data is None else self.data[index])


def _binary(function: Callable[[Any, Any], Any], is_swapped: bool = False) -> Any:
    def method(self: Tile, other: Any) -> Tile:
        return applied(function, other, self) if is_swapped else applied(function, self, other)

    return method


for _name in ("add", "sub", "mul", "truediv", "lt", "le", "gt", "ge", "eq", "ne", "and_", "or_"):
    _function = getattr(operator, _name)
    setattr(Tile, f"__{_name.strip('_')}__", _binary(_function))
    setattr(Tile, f"__r{_name.strip('_')}__", _binary(_function, is_swapped=True))


def applied(function: Callable[..., Any], *values: Any) -> Tile:
    """A function of tiles and numbers, element by element."""
    for one in values:
        if isinstance(one, Product):
            raise ProtocolError(f"`{one.name}` is read while it is in flight")
    data = [one.data if isinstance(one, Tile) else one for one in values]
    if any(isinstance(one, Tile) and one.data is None for one in values):
        return Tile()
    with np.errstate(all="ignore"):
        result = function(*data)
    return Tile(_narrow(result, data))


def _narrow(result: Any, data: Sequence[Any]) -> Any:
    """Python's numbers do not make a result wider."""
    kinds = [one.dtype for one in data if isinstance(one, np.ndarray) and one.dtype.kind == "f"]
    if kinds and result.dtype.kind == "f":
        return result.astype(np.result_type(*kinds))
    return result


class Product(Tile):
    """A product in flight: it counts as a sum for the next product only."""

    def __init__(self, data: Any, name: str, slots: list[Slot], partition: int | None) -> None:
        super().__init__(data)
        self.name, self.partition = name, partition
        self.slots = slots


@dataclass
class Storing:
    """A store by TMA that may still read its slot, where `partition` waits for it."""

    slot: Slot
    partition: int | None


@dataclass
class Stores:
    """The stores by TMA of all partitions, oldest first."""

    machine: Machine
    pending: list[Storing] = field(default_factory=list)

    def begin(self, descriptor: Any, at: Sequence[Any], memory: View) -> None:
        descriptor.store(at, memory.read())
        self.pending.append(Storing(memory.slot, self.machine.running))
        memory.slot.readers.append(self.pending[-1])

    def wait(self, pending: int) -> None:
        own = [one for one in self.pending if one.partition == self.machine.running]
        for one in own[: len(own) - pending]:
            self.pending.remove(one)
            one.slot.readers.remove(one)

    def require_read(self) -> None:
        """Shared memory goes with its program."""
        if any(one.partition == self.machine.running for one in self.pending):
            raise ProtocolError("a partition ends before what it stores has been read")


@dataclass
class View:
    """Shared memory, as it is seen: `shape` and `is_turned` say how, `fills` since when."""

    machine: Machine
    slot: Slot
    fills: int
    shape: tuple[int, ...] | None = None
    is_turned: bool = False

    def permute(self, order: Sequence[int]) -> View:
        return replace(self, is_turned=not self.is_turned)

    def reshape(self, shape: Sequence[int]) -> View:
        return replace(self, shape=tuple(shape))

    def store(self, tile: Tile) -> None:
        self.slot.fill(tile.data)
        self.fills = self.slot.fills

    def load(self, layout: Any = None) -> Tile:
        return Tile(self.read())

    def read(self) -> Any:
        data = self.slot.read(self.machine.running)
        if self.slot.fills != self.fills:
            raise ProtocolError(f"{self.slot.name} is read after it was loaded again")
        if data is None:
            return None
        shaped = data if self.shape is None else data.reshape(self.shape)
        return shaped.T if self.is_turned else shaped


class Memory:
    """An allocation: as many slots, or barriers, as its first extent says."""

    def __init__(self, machine: Machine, name: str, count: int, is_barriers: bool) -> None:
        self.name, self.machine = name, machine
        self.items = [
            Barrier(machine, f"{name}[{at}]") if is_barriers else Slot(f"{name}[{at}]")
            for at in range(count)
        ]

    def index(self, at: Any) -> Any:
        if not 0 <= at < len(self.items):
            # Where nothing is done with it, as under `pred=False`.
            return None
        item = self.items[at]
        return item if isinstance(item, Barrier) else View(self.machine, item, item.fills)


@dataclass
class Pointer:
    """A place in a tensor's elements, which lie in a row, or a tile of such places.

    Without the elements, numbers that are loaded are small ones, other at other places.
    """

    elements: Any = None
    offset: Any = 0

    def __add__(self, other: Any) -> Pointer:
        return Pointer(self.elements, self.offset + other)

    def load(self, mask: Any = True, other: Any = 0, **hints: Any) -> Any:
        if self.elements is not None and not isinstance(self.offset, Tile):
            return self.elements[self.offset].item() if mask else other
        if not isinstance(self.offset, Tile):
            return (5 * self.offset + 3) % 8
        if self.elements is None or self.offset.data is None:
            return Tile()
        places, inside = self._places(mask)
        return Tile(np.where(inside, self.elements[places], _of(other)))

    def store(self, value: Any, mask: Any = True) -> None:
        if self.elements is None or _of(self.offset) is None:
            return
        places, inside = self._places(mask)
        places, inside, values = np.broadcast_arrays(places, inside, _of(value))
        self.elements[places[inside]] = values[inside]

    def _places(self, mask: Any) -> tuple[Any, Any]:
        inside = np.broadcast_to(_of(mask), np.shape(_of(self.offset)))
        return np.where(inside, _of(self.offset), 0), inside


def _of(value: Any) -> Any:
    return value.data if isinstance(value, Tile) else value


@dataclass
class Descriptor:
    """A tensor in memory and the block that is loaded or stored at once."""

    tensor: Any
    block: tuple[int, ...]
    dtype: Any = np.float16
    layout: Any = None

    @property
    def block_type(self) -> SimpleNamespace:
        return SimpleNamespace(nbytes=int(np.prod(self.block)))

    def load(self, at: Sequence[Any]) -> Any:
        if self.tensor is None:
            return None
        block = np.zeros(self.block, self.tensor.dtype)
        inside, outside = self._places(at)
        block[outside] = self.tensor[inside]
        return block

    def store(self, at: Sequence[Any], value: Any) -> None:
        if self.tensor is not None and value is not None:
            inside, outside = self._places(at)
            self.tensor[inside] = value.reshape(self.block)[outside]

    def _places(self, at: Sequence[Any]) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
        """What lies inside of the tensor: there, and in the block."""
        inside, outside = [], []
        for start, extent, size in zip(at, self.block, self.tensor.shape, strict=True):
            low, high = max(start, 0), min(start + extent, size)
            high = max(low, high)
            inside.append(slice(low, high))
            outside.append(slice(low - start, high - start))
        return tuple(inside), tuple(outside)


class Flights:
    """The products of one partition that are in flight, oldest first."""

    def __init__(self, partition: int | None) -> None:
        self.partition = partition
        self.products: list[Product] = []

    def issue(
        self, a: Any, b: View, total: Any, use_acc: bool = True, is_async: bool = False
    ) -> Any:
        slots = [one.slot for one in (a, b) if isinstance(one, View)]
        first = a.read() if isinstance(a, View) else a.data
        second = b.read()
        data = None
        if first is not None and second is not None and total.data is not None:
            data = first.astype(np.float32) @ second.astype(np.float32)
            data = data + total.data if use_acc else data
        made = Product(data, ", ".join(slot.name for slot in slots), slots, self.partition)
        for slot in slots:
            slot.readers.append(made)
        self.products.append(made)
        return made

    def wait(self, pending: int = 0, deps: Sequence[Any] = ()) -> Any:
        while len(self.products) > pending:
            done = self.products.pop(0)
            for slot in done.slots:
                slot.readers = [one for one in slot.readers if one is not done]
        waited = [Tile(one.data) if isinstance(one, Product) else one for one in deps]
        return waited[0] if len(waited) == 1 else tuple(waited)


def elementwise(function: Callable[..., Any], plain: Callable[..., Any]) -> Callable[..., Any]:
    """A function of tiles that is `plain` on numbers."""

    def call(*values: Any, **words: Any) -> Any:
        values = (*values, *words.values())
        if any(isinstance(one, Tile) for one in values):
            return applied(function, *values)
        return plain(*values)

    return call


def reduction(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(tile: Tile, axis: int) -> Tile:
        return applied(lambda data: function(data, axis=axis), tile)

    return call


# Functions of tiles and numbers, element by element, by Gluon's names.
ELEMENTWISE = {
    "abs": elementwise(np.abs, abs),
    "ceil": elementwise(np.ceil, math.ceil),
    "clamp": elementwise(np.clip, lambda x, low, high: min(max(x, low), high)),
    "cos": elementwise(np.cos, math.cos),
    "div_rn": elementwise(np.divide, operator.truediv),
    "erf": elementwise(np.vectorize(math.erf, otypes=[np.float32]), math.erf),
    "exp": elementwise(np.exp, math.exp),
    "exp2": elementwise(np.exp2, lambda x: 2.0**x),
    "floor": elementwise(np.floor, math.floor),
    "fma": elementwise(lambda a, b, c: a * b + c, lambda a, b, c: a * b + c),
    "log": elementwise(np.log, math.log),
    "log2": elementwise(np.log2, math.log2),
    "rsqrt": elementwise(lambda x: 1 / np.sqrt(x), lambda x: 1 / math.sqrt(x)),
    "sin": elementwise(np.sin, math.sin),
    "sqrt": elementwise(np.sqrt, math.sqrt),
    "umulhi": elementwise(
        lambda a, b: (a.astype(np.uint64) * b) >> np.uint64(32), lambda a, b: (a * b) >> 32
    ),
    "where": elementwise(np.where, lambda test, a, b: a if test else b),
}
