"""Share work out among processes, one thread for each, while it is still being made."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import TypeVar

Item = TypeVar("Item")
Process = TypeVar("Process")
Result = TypeVar("Result")


def share_out(
    items: Iterable[Item],
    processes: Sequence[AbstractContextManager[Process]],
    do: Callable[[Process, Item], Result],
    done: Callable[[Item, Result], object],
) -> None:
    """Let each process do the next item until there is none left; this thread makes the items.

    `done` gets each result, never two at the same time. What is raised anywhere is raised here,
    once all processes have ended; an interrupt ends them too.
    """
    # An empty tuple ends a thread.
    waiting: queue.SimpleQueue[tuple[Item] | tuple[()]] = queue.SimpleQueue()
    lock = threading.Lock()
    errors: list[BaseException] = []

    def work(process: AbstractContextManager[Process]) -> None:
        try:
            with process as entered:
                while (taken := waiting.get()) and not errors:
                    result = do(entered, taken[0])
                    with lock:
                        done(taken[0], result)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(one,), daemon=True) for one in processes]
    for thread in threads:
        thread.start()
    try:
        for item in items:
            if errors:
                break
            waiting.put((item,))
        for _ in threads:
            waiting.put(())
        for thread in threads:
            thread.join()
    except BaseException as error:
        # An interrupt, or an item that cannot be made: what hangs must not outlive its caller.
        errors.append(error)
        for process in processes:
            process.__exit__(None, None, None)
            waiting.put(())
        raise
    if errors:
        raise errors[0]
