"""Share work out among processes, one thread for each."""

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
    """Let each process do the next item until there is none left.

    `done` gets each result, never two at the same time. What is raised anywhere is raised here,
    once all processes have ended; an interrupt ends them too.
    """
    waiting: queue.SimpleQueue[Item] = queue.SimpleQueue()
    for item in items:
        waiting.put(item)
    lock = threading.Lock()
    errors: list[BaseException] = []

    def work(process: AbstractContextManager[Process]) -> None:
        try:
            with process as entered:
                while not errors:
                    item = waiting.get_nowait()
                    result = do(entered, item)
                    with lock:
                        done(item, result)
        except queue.Empty:
            pass
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(one,), daemon=True) for one in processes]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except BaseException as error:
        # An interrupt: what hangs must not outlive its caller.
        errors.append(error)
        for process in processes:
            process.__exit__(None, None, None)
        raise
    if errors:
        raise errors[0]
