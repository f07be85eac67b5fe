"""Partitions that take turns, barriers between them, and shared memory that knows its readers."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any


class ProtocolError(Exception):
    """What partitions do that ends in a deadlock or a race."""


class StoppedError(Exception):
    """Another partition has failed, or there have been steps enough."""


class Machine:
    """Runs partitions until all end; one runs at a time, until it waits.

    Raises ProtocolError if all of them wait. After `most_steps` waits the rest is not run: a ring
    that has gone round that often goes round for ever.
    """

    def __init__(self, most_steps: int = 20_000) -> None:
        self.most_steps = most_steps
        self.steps = 0
        self.running: int | None = None
        self.waiting: dict[int, tuple[Callable[[], bool], str]] = {}
        self.alive: list[int] = []
        self.failure: BaseException | None = None
        # The barrier that each partition waited for last.
        self.waited: dict[int | None, Barrier] = {}
        # Each is held until its partition has the turn.
        self.turns: list[threading.Lock] = []

    def run(self, partitions: Sequence[Callable[[], None]]) -> None:
        """Run partitions to their ends."""
        self.alive = list(range(len(partitions)))
        self.turns = [threading.Lock() for _ in partitions]
        for turn in self.turns:
            turn.acquire()
        threads = [
            threading.Thread(target=self._partition, args=(at, body), daemon=True)
            for at, body in enumerate(partitions)
        ]
        for thread in threads:
            thread.start()
        self._pass_on()
        for thread in threads:
            thread.join()
        if self.failure is not None and not isinstance(self.failure, StoppedError):
            raise self.failure

    def _partition(self, at: int, body: Callable[[], None]) -> None:
        self.turns[at].acquire()
        try:
            if self.failure is None:
                body()
        except BaseException as error:
            self.failure = self.failure or error
        self.alive.remove(at)
        self._pass_on()

    def wait(self, is_over: Callable[[], bool], said: str) -> None:
        """Let others run until something is so."""
        self.steps += 1
        if self.steps > self.most_steps:
            raise StoppedError
        if is_over():
            return
        at = self.running
        assert at is not None
        self.waiting[at] = is_over, said
        self._pass_on()
        self.turns[at].acquire()
        self.waiting.pop(at, None)
        if self.failure is not None:
            raise StoppedError

    def give_way(self) -> None:
        """Let the partitions before this one run first, if they can."""
        asked = itertools.count()
        self.wait(lambda: next(asked) > 0, "")

    def _pass_on(self) -> None:
        """Give the turn to a partition that can go on, or to each to end where none can."""
        if self.alive and self.failure is None and not self._next():
            said = "; ".join(said for _, said in self.waiting.values())
            self.failure = ProtocolError(f"all partitions wait: {said}")
        if self.alive and self.failure is not None:
            self._give(self.alive[0])

    def _next(self) -> bool:
        for at in self.alive:
            if at not in self.waiting or self.waiting[at][0]():
                self._give(at)
                return True
        return False

    def _give(self, at: int) -> None:
        self.running = at
        self.turns[at].release()


@dataclass
class Barrier:
    """An mbarrier: a phase ends when all have arrived, and all bytes that are expected.

    Who arrives gives back the slot that it `guards`.
    """

    machine: Machine
    name: str
    count: int = 0
    pending: int = 0
    missing: int = 0
    phase: int = 0
    guards: Slot | None = None

    def init(self, count: int) -> None:
        self.count = self.pending = count

    def arrive(self, count: int = 1) -> None:
        if not self.count:
            raise ProtocolError(f"{self.name} is used before it is made")
        if self.guards is not None:
            self.guards.give_back(self.machine.running)
        self.pending -= count
        if self.pending < 0:
            raise ProtocolError(f"more arrive at {self.name} than its {self.count}")
        self._end()

    def expect(self, size: int) -> None:
        self.missing += size
        self.arrive()

    def bring(self, size: int) -> None:
        self.missing -= size
        if self.missing < 0:
            raise ProtocolError(f"{self.name} gets bytes that nobody expects")
        self._end()

    def wait(self, parity: int) -> None:
        self.machine.wait(lambda: self.phase % 2 != parity, f"for phase {parity} of {self.name}")
        self.machine.waited[self.machine.running] = self

    def _end(self) -> None:
        if not self.pending and not self.missing:
            self.phase += 1
            self.pending = self.count


@dataclass
class Slot:
    """A tile of shared memory: `value` is what is in it, `readers` are products that read it."""

    name: str
    value: Any = None
    # How often it has been loaded.
    fills: int = 0
    readers: list[Any] = field(default_factory=list)
    # Which of these loads each partition has given back.
    returned: dict[int | None, int] = field(default_factory=dict)

    def fill(self, value: Any) -> None:
        if self.readers:
            raise ProtocolError(f"{self.name} is loaded while a product reads it")
        self.value = value
        self.fills += 1

    def give_back(self, partition: int | None) -> None:
        if any(one.partition == partition for one in self.readers):
            raise ProtocolError(f"{self.name} is given back while a product reads it")
        self.returned[partition] = self.fills

    def read(self, partition: int | None) -> Any:
        if not self.fills:
            raise ProtocolError(f"{self.name} is read before it is loaded")
        if self.returned.get(partition) == self.fills:
            raise ProtocolError(f"{self.name} is read after it was given back")
        return self.value
