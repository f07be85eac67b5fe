"""What the processes under check tell the one that supervises them: JSON in one pipe.

Several write at a time, so that an event goes out in lines that the system writes whole, each with
the number of the process and the thread that it is from.
"""

from __future__ import annotations

import json
import os
import select
import threading
from collections.abc import Callable, Iterator
from typing import Any

Event = dict[str, Any]
Tell = Callable[[Event], None]

# Room for the numbers, and for the mark that says whether more follows.
PIECE = select.PIPE_BUF - 64
MORE, LAST = "+", "."


class Teller:
    """Writes events, from any thread and after any fork."""

    def __init__(self, pipe: int) -> None:
        self.pipe = pipe

    def __call__(self, event: Event) -> None:
        text = json.dumps(event)
        sender = f"{os.getpid()} {threading.get_ident()}"
        for start in range(0, len(text), PIECE):
            mark = MORE if start + PIECE < len(text) else LAST
            os.write(self.pipe, f"{sender} {mark}{text[start : start + PIECE]}\n".encode())


def told(pipe: int) -> Iterator[tuple[int, Event]]:
    """The events, each with the number of its process, until all that could write have ended."""
    pieces: dict[str, str] = {}
    with os.fdopen(pipe) as lines:
        for line in lines:
            process, thread, piece = line.rstrip("\n").split(" ", 2)
            sender = f"{process} {thread}"
            text = pieces.pop(sender, "") + piece[1:]
            if piece[0] == LAST:
                yield int(process), json.loads(text)
            else:
                pieces[sender] = text
