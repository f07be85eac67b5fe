"""AMD's names of Gluon without a GPU: two halves of the warps, and when what they copy is there.

Each half runs the kernel, and copies half of each tile. In a loop of stages the second half is one
stage behind the first, and all warps meet between two stages; elsewhere they meet where Triton puts
barriers. What one half does before such a meeting has happened for what the other does behind it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from tile2triton.simulation.language import Pointer, Tile
from tile2triton.simulation.machine import Machine, ProtocolError

HALVES = 2


@dataclass(eq=False)
class Event:
    """What a half does; `ended` counts the meetings before its end, once that is known."""

    half: int
    value: Any = None
    ended: int | None = None
    # Whether Triton lets it end at the border of its stage.
    is_fenced: bool = False


@dataclass
class Place:
    """A slot of shared memory: the halves of the tile in it, and who reads it."""

    name: str
    parts: dict[int, Event] = field(default_factory=dict)
    readers: list[Event] = field(default_factory=list)


@dataclass
class Half:
    """The state of one half of the warps."""

    met: int = 0
    staged: bool = False
    allocated: int = 0
    copies: list[Event] = field(default_factory=list)
    groups: list[list[Event]] = field(default_factory=list)
    # What it has read and stored in shared memory since the last meeting, by the memories' names.
    reads: list[Event] = field(default_factory=list)
    stores: list[Event] = field(default_factory=list)
    touched: set[tuple[str, str]] = field(default_factory=set)


class Halves:
    """Both halves of one program's warps."""

    def __init__(self, machine: Machine, in_stages: bool) -> None:
        self.machine = machine
        self.in_stages = in_stages
        self.halves = [Half() for _ in range(HALVES)]
        self.memories: list[Memory] = []

    @property
    def at(self) -> int:
        assert self.machine.running is not None
        return self.machine.running

    @property
    def own(self) -> Half:
        return self.halves[self.at]

    def meet(self, is_local: bool = True) -> None:
        """Wait for the other half; a local barrier also ends what was done in shared memory.

        Between stages Triton puts one where a later stage stores what was read.
        """
        own = self.own
        self.end([one for one in own.reads if is_local or one.is_fenced])
        self.end(own.stores)
        own.reads, own.stores = [], []
        own.touched.clear()
        own.met += 1
        count = own.met
        self.machine.wait(
            lambda: all(one.met >= count for one in self.halves), f"for meeting {count}"
        )

    def end(self, events: Sequence[Event]) -> None:
        for one in events:
            if one.ended is None:
                one.ended = self.halves[one.half].met

    def has_happened(self, event: Event) -> bool:
        """Whether something has ended before a meeting that this half has been at, too."""
        return event.ended is not None and event.ended < self.own.met

    def enter(self) -> None:
        if self.in_stages:
            self.meet()
            self.own.staged = True
            if self.at:
                self.meet()

    def border(self) -> None:
        if self.in_stages:
            self.meet(is_local=False)

    def leave(self) -> None:
        if self.in_stages:
            if not self.at:
                self.meet()
            self.own.staged = False

    def allocate(self, kind: Any, shape: Sequence[int], layout: Any) -> Memory:
        """The memory is that of both halves."""
        number = self.own.allocated
        self.own.allocated += 1
        if number == len(self.memories):
            self.memories.append(Memory(self, f"memory {number}", shape[0]))
        return self.memories[number]

    def commit(self) -> None:
        self.own.groups.append(self.own.copies)
        self.own.copies = []

    def wait(self, pending: int) -> None:
        """Wait for all but the last copies, and for what has been read; Triton puts a barrier."""
        groups = self.own.groups
        for group in groups[: len(groups) - pending]:
            self.end(group)
        self.own.groups = groups[len(groups) - pending :] if pending else []
        self.end(self.own.reads)
        if not self.own.staged:
            self.meet()

    def require_done(self) -> None:
        """Let no copy be under way when a kernel ends."""
        if any(one.ended is None for group in self.own.groups for one in group):
            raise ProtocolError("the kernel ends while copies are under way")


class Memory:
    """An allocation of slots."""

    def __init__(self, halves: Halves, name: str, count: int) -> None:
        self.halves = halves
        self.name = name
        self.places = [Place(f"{name}[{at}]") for at in range(count)]
        # Whether registers are stored to it; else copies go there.
        self.is_stored = False

    def index(self, at: int) -> View:
        return View(self, self.places[at])


@dataclass
class View:
    """A slot, as it is seen."""

    memory: Memory
    place: Place
    is_turned: bool = False

    def permute(self, order: Sequence[int]) -> View:
        return View(self.memory, self.place, not self.is_turned)

    def load(self, layout: Any) -> Tile:
        self._fence("store", "load")
        return self.relaxed(layout)

    def relaxed(self, layout: Any) -> Tile:
        """Read without a barrier before it."""
        halves, place = self.memory.halves, self.place
        for half in range(HALVES):
            part = place.parts.get(half)
            # What a half has stored itself, or waited for, is there for it at once.
            is_there = half == halves.at and (part in halves.own.stores or _has_ended(part))
            if part is None or not (is_there or halves.has_happened(part)):
                raise ProtocolError(f"{place.name} is read before it is loaded")
        reading = Event(halves.at, is_fenced=self.memory.is_stored)
        place.readers.append(reading)
        halves.own.reads.append(reading)
        data = place.parts[halves.at].value
        return Read(data.T if self.is_turned and data is not None else data, reading)

    def store(self, tile: Tile) -> None:
        """Store a tile from registers; a half's own accesses are in order."""
        self._fence("load", "store")
        halves = self.memory.halves
        self._require_unread([one for one in self.place.readers if one.half != halves.at])
        self.memory.is_stored = True
        stored = Event(halves.at, tile.data)
        halves.own.stores.append(stored)
        self.place.parts[halves.at] = stored

    def copy(self, value: Any) -> None:
        """Begin a copy past registers, which may end at any time."""
        halves, place = self.memory.halves, self.place
        self._require_unread(place.readers)
        before = place.parts.get(halves.at)
        if before is not None and before.ended is None:
            raise ProtocolError(f"{place.name} is loaded twice at once")
        place.readers = []
        place.parts[halves.at] = Event(halves.at, value)
        halves.own.copies.append(place.parts[halves.at])

    def _require_unread(self, readers: Sequence[Event]) -> None:
        if not all(map(self.memory.halves.has_happened, readers)):
            raise ProtocolError(f"{self.place.name} is loaded while it is read")

    def _fence(self, other: str, kind: str) -> None:
        """Triton puts a barrier between a load and a store, but within loops of stages."""
        halves = self.memory.halves
        if not halves.own.staged and (self.memory.name, other) in halves.own.touched:
            halves.meet()
        halves.own.touched.add((self.memory.name, kind))


def _has_ended(event: Event | None) -> bool:
    return event is not None and event.ended is not None


class Read(Tile):
    """What was read from shared memory: it is there where it is used."""

    def __init__(self, data: Any, reading: Event) -> None:
        super().__init__(data)
        self.reading = reading


def _near(pointer: Pointer, offsets: Tile, mask: Any) -> Pointer:
    """The places that offsets mean, which a mask leaves inside of the tensor."""
    made = pointer + offsets
    if pointer.elements is not None and made.offset.data is not None:
        places = made.offset.data
        seen = np.broadcast_to(mask.data if isinstance(mask, Tile) else mask, places.shape)
        if (seen & ((places < 0) | (places >= pointer.elements.size))).any():
            raise ProtocolError("a tensor is accessed outside")
    return made


def names_for_amd(halves: Halves) -> dict[str, Any]:
    """The names that emitted functions use beside those of all targets."""

    def copy(view: View, pointer: Pointer, offsets: Tile, mask: Any = True) -> None:
        view.copy(load(pointer, offsets, mask).data)

    def load(pointer: Pointer, offsets: Tile, mask: Any = True) -> Tile:
        found: Tile = _near(pointer, offsets, mask).load(mask)
        return found

    def store(tile: Tile, pointer: Pointer, offsets: Tile, mask: Any = True) -> None:
        _near(pointer, offsets, mask).store(tile, mask)

    def mfma(a: Tile, b: Tile, total: Tile) -> Tile:
        halves.end([one.reading for one in (a, b) if isinstance(one, Read)])
        if a.data is None or b.data is None or total.data is None:
            return Tile()
        return Tile(a.data.astype(np.float32) @ b.data.astype(np.float32) + total.data)

    async_copy = SimpleNamespace(
        buffer_load_to_shared=copy,
        commit_group=halves.commit,
        wait_group=halves.wait,
        load_shared_relaxed=lambda view, layout: view.relaxed(layout),
    )
    module = SimpleNamespace(buffer_load=load, buffer_store=store, mfma=mfma, async_copy=async_copy)
    return {
        "cdna3": module,
        "cdna4": module,
        "warp_stage": lambda label, priority: contextlib.nullcontext(),
        "_enter": halves.enter,
        "_border": halves.border,
        "_leave": halves.leave,
    }


def partition(kernel: Callable[[], None], halves: Halves) -> Callable[[], None]:
    """What one half runs."""

    def run() -> None:
        kernel()
        halves.require_done()

    return run
