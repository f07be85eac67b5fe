"""A process that compiles kernels, started anew after a crash or a hang."""

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from .compile_job import Job


class CompileProcess:
    """Answers jobs one after the other, whatever becomes of the compiler."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None
        self.messages = tempfile.TemporaryFile("w+")  # noqa: SIM115

    def __enter__(self) -> "CompileProcess":
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        self.messages.close()

    def answer(self, job: Job, seconds: float) -> dict[str, Any]:
        """What the process says about `job`; a crash or a hang is an error like others."""
        process = self._running()
        assert process.stdin is not None and process.stdout is not None
        self.messages.seek(0)
        self.messages.truncate()
        hung = threading.Event()

        def stop() -> None:
            hung.set()
            process.kill()

        timer = threading.Timer(seconds, stop)
        timer.start()
        try:
            process.stdin.write(json.dumps(dataclasses.asdict(job)) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            timer.cancel()
        if not line:
            self._stop()
            if hung.is_set():
                return {"error": f"compiling took longer than {seconds:g} s and was stopped"}
            error = f"the compiler ended abruptly (exit {process.returncode})"
            return {"error": error, "messages": self._read_messages()}
        result: dict[str, Any] = json.loads(line)
        if "error" in result:
            result["messages"] = self._read_messages()
        return result

    def _running(self) -> subprocess.Popen[str]:
        if self.process is None:
            root = str(Path(__file__).parents[1])
            paths = [root, *filter(None, [os.environ.get("PYTHONPATH")])]
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tile2triton.compile_worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.messages,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
                text=True,
            )
        return self.process

    def _stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None

    def _read_messages(self) -> str:
        self.messages.seek(0)
        return self.messages.read()
