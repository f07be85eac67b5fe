"""Run tasks in processes that may hang, crash or lose their GPU context, each with a time limit."""

import multiprocessing
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any


@dataclass(frozen=True)
class Task:
    """`function` must be importable by name; `limit` is in seconds."""

    key: Hashable
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    limit: float


@dataclass(frozen=True)
class Outcome:
    """`error` is empty where the task returned; else one line that says what happened."""

    key: Hashable
    value: Any
    error: str = ""


def run_all(tasks: Iterable[Task], processes: int) -> Iterator[Outcome]:
    """The outcomes of all tasks, as they come in."""
    waiting = deque(tasks)
    workers = [Worker() for _ in range(min(processes, len(waiting)))]
    try:
        while waiting or any(worker.task for worker in workers):
            for worker in workers:
                if worker.task is None and waiting:
                    worker.start(waiting.popleft())
            busy = {worker.connection: worker for worker in workers if worker.task}
            ready = wait(
                list(busy), timeout=max(0.0, min(w.deadline for w in busy.values()) - now())
            )
            for connection in ready:
                yield busy[connection].finish()  # type: ignore[index]
            for worker in workers:
                if worker.task and now() > worker.deadline:
                    yield worker.give_up()
    finally:
        for worker in workers:
            worker.stop()


def now() -> float:
    return time.monotonic()


class Worker:
    """One process, replaced by a fresh one whenever a task leaves it in doubt."""

    def __init__(self) -> None:
        self.task: Task | None = None
        self.deadline = 0.0
        self.begin()

    def begin(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        self.process = context.Process(target=serve, args=(other,), daemon=True)
        self.process.start()
        other.close()

    def start(self, task: Task) -> None:
        self.task = task
        self.deadline = now() + task.limit
        self.connection.send(task)

    def finish(self) -> Outcome:
        assert self.task is not None
        key, self.task = self.task.key, None
        try:
            value, error, usable = self.connection.recv()
        except (EOFError, ConnectionResetError):
            self.process.join()
            value, error, usable = None, f"the process died ({self.process.exitcode})", False
        if not usable:
            self.stop()
            self.begin()
        return Outcome(key, value, error)

    def give_up(self) -> Outcome:
        assert self.task is not None
        task, self.task = self.task, None
        self.stop()
        self.begin()
        return Outcome(task.key, None, f"no answer in {task.limit:.0f} s")

    def stop(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


def serve(connection: Connection) -> None:
    """Answer tasks with (value, error, whether the GPU context still works) until killed."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    while True:
        task = connection.recv()
        try:
            connection.send((task.function(*task.arguments), "", True))
        # Whatever goes wrong with one configuration is a row of the table, not the end of a run.
        except Exception as error:
            text = f"{type(error).__name__}: {error}".split("\n", maxsplit=1)[0]
            connection.send((None, text[:200], context_works()))


def end_with_parent() -> None:
    """End the process when its parent has ended, though a kernel may hang."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def context_works() -> bool:
    """After an illegal access every later call fails, so the process must be replaced."""
    torch: Any = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return True
    try:
        torch.cuda.synchronize()
    except RuntimeError:
        return False
    return True
