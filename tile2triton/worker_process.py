"""A process that answers questions one after the other, started anew after a crash or a hang."""

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, Self

from .family import Family


class Worker(Protocol):
    """What answers questions; `WorkerProcess` is the one that may crash and hang."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...

    def ask(self, question: Mapping[str, Any], seconds: float) -> dict[str, Any]: ...

    @property
    def is_running(self) -> bool: ...

    def stop(self) -> None: ...


class WorkerProcess:
    """Asks a module that reads lines of JSON and writes one for each.

    A crash and a hang are answers too: what the answer's "error" says, and "ended" is true.
    `work` is what the process does, as in "compiling took longer than 5 s"; `name` is what ends.
    """

    def __init__(self, module: str, work: str, name: str) -> None:
        self.module = module
        self.work = work
        self.name = name
        self.family: Family | None = None
        self.messages = tempfile.TemporaryFile("w+")  # noqa: SIM115

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self.messages.close()

    def ask(self, question: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """What the process says; with an "error" come the "messages" that it printed."""
        family = self._running()
        process = family.process
        assert process.stdin is not None and process.stdout is not None
        self.messages.seek(0)
        self.messages.truncate()
        hung = threading.Event()

        def stop() -> None:
            hung.set()
            family.kill()

        timer = threading.Timer(seconds, stop)
        timer.start()
        try:
            process.stdin.write(json.dumps(question) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            timer.cancel()
        if not line:
            self.stop()
            error = f"{self.name} ended abruptly (exit {process.returncode})"
            if hung.is_set():
                error = f"{self.work} took longer than {seconds:g} s and was stopped"
            return {
                "error": error,
                "ended": True,
                "hung": hung.is_set(),
                "messages": self._read_messages(),
            }
        result: dict[str, Any] = json.loads(line)
        if "error" in result:
            result["messages"] = self._read_messages()
        return result

    @property
    def is_running(self) -> bool:
        return self.family is not None

    def stop(self) -> None:
        """End the process; the next question starts another."""
        if self.family is not None:
            family, self.family = self.family, None
            family.end()
            # Closes the pipes.
            family.process.communicate()

    def _running(self) -> Family:
        if self.family is None:
            root = str(Path(__file__).parents[1])
            paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
            self.family = Family(
                [sys.executable, "-m", self.module],
                {**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.messages,
                text=True,
            )
        return self.family

    def _read_messages(self) -> str:
        self.messages.seek(0)
        return self.messages.read()
