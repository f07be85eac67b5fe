"""The processes that a script starts: those of multiprocessing are put under check, too."""

from __future__ import annotations

import json
import multiprocessing
import multiprocessing.util
import os
import re
import sys
from collections.abc import Sequence
from multiprocessing.process import BaseProcess
from typing import Any

from tile2triton.checking.absent import Missed
from tile2triton.checking.events import Event, Tell

# What starts a process, and the server that forks processes, is a line of Python; ours comes first.
_STARTS = ("from multiprocessing.spawn import ", "from multiprocessing.forkserver import ")
_FIRST = "from tile2triton.checking.surroundings import stay; stay({order!r}); "
# Events of Python's own that a program is being started, and where they have its command.
_COMMANDS = {"subprocess.Popen": 1, "os.system": 0, "os.posix_spawn": 1, "os.exec": 1}
_OF_PYTHON = re.compile(r"(?:.*/)?(?:python[\d.]*|torchrun|pytest)")

# What is replaced here is none of what multiprocessing promises.
_UTIL: Any = multiprocessing.util
_PROCESS: Any = BaseProcess


def follow(order: Event, missed: Missed, tell: Tell) -> None:
    """Put every process under check that multiprocessing starts, and tell of all others."""
    start = _UTIL.spawnv_passfds

    def started(path: Any, args: Sequence[Any], passed: Sequence[int]) -> int:
        if any(str(arg).startswith(_STARTS) for arg in args):
            first = _FIRST.format(order=json.dumps(order))
            args = [first + arg if str(arg).startswith(_STARTS) else arg for arg in args]
            passed = [*passed, order["events"]]
        number: int = start(path, args, passed)
        return number

    run = _PROCESS._bootstrap

    def ran(process: BaseProcess, *given: Any, **named: Any) -> int:
        code: int = run(process, *given, **named)
        name, lacking = process.name, missed.names
        tell({"event": "process", "name": name, "code": code, "missed": lacking})
        return code

    _UTIL.spawnv_passfds = started
    _PROCESS._bootstrap = ran
    sys.addaudithook(lambda event, given: _watch(event, given, tell))


def wait_for_all() -> None:
    """Let processes finish that Python waits for at its end."""
    pools = sys.modules.get("concurrent.futures.process")
    if pools is not None:
        # Processes of these pools go on until they are told that it is the end.
        pools._python_exit()
    for process in multiprocessing.active_children():
        if not process.daemon:
            process.join()


def _watch(event: str, given: tuple[Any, ...], tell: Tell) -> None:
    if event in _COMMANDS:
        command = given[_COMMANDS[event]]
        parts = command if isinstance(command, (list, tuple)) else [command]
        text = " ".join(os.fsdecode(part) for part in parts)
        if any(_OF_PYTHON.fullmatch(word) for word in text.split()):
            tell({"event": "unchecked", "command": text})
