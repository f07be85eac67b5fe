"""Programs that start at once: they are forked from a process that has imported what takes seconds.

A program that is started this way differs from a new one in nothing but what is in `sys.modules`.
"""

import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Never

from tests.child_process import ROOT, environment_of_a_child
from tile2triton.family import Family, Group

IMPORTED = (
    "ml_dtypes",
    "torch._dynamo.config",
    "torch._subclasses.fake_tensor",
    "triton.compiler",
    "triton.backends.compiler",
    "tile2triton.cli",
    "tile2triton.checking.surroundings",
    "tile2triton.interpreter.kernel",
    "tile2triton.commands.run",
    "tile2triton.worker_loop",
)
MOST_BYTES = 1 << 17


class WarmFamily(Group):
    """As `Family`, for commands of the form `python -m module`."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], **options: Any
    ) -> None:
        assert command[:2] == [sys.executable, "-m"], command
        self.process: Any = WarmProcess(command[2:], environment, **options)


class WarmProcess:
    """The part of `subprocess.Popen` that is used of one."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        stdin: Any = None,
        stdout: Any = None,
        stderr: Any = None,
        pass_fds: Sequence[int] = (),
        cwd: Path | None = None,
        text: bool = True,
    ) -> None:
        self.returncode: int | None = None
        self.lock = threading.Lock()
        self.stdin: IO[str] | None = None
        self.stdout: IO[str] | None = None
        given = []
        with contextlib.ExitStack() as closing:
            self.status, other = socket.socketpair()
            closing.callback(other.close)
            if stdin == subprocess.PIPE:
                reading, writing = os.pipe()
                self.stdin = os.fdopen(writing, "w")
            else:
                reading = os.open(os.devnull, os.O_RDONLY)
            closing.callback(os.close, reading)
            given = [reading, stdout, stderr]
            if stdout == subprocess.PIPE:
                out, given[1] = os.pipe()
                self.stdout = os.fdopen(out)
                closing.callback(os.close, given[1])
            if stderr == subprocess.STDOUT:
                given[2] = given[1]
            order = {
                "command": list(command),
                "environment": dict(environment),
                "folder": str(cwd or Path.cwd()),
                "passed": list(pass_fds),
            }
            descriptors = [x if isinstance(x, int) else x.fileno() for x in given]
            message = json.dumps(order).encode()
            assert len(message) < MOST_BYTES
            socket.send_fds(server(), [message], [other.fileno(), *descriptors, *pass_fds])
        self.pid = int(self.status.recv(20))

    def wait(self, timeout: float | None = None) -> int:
        with self.lock:
            if self.returncode is None:
                self.status.settimeout(timeout)
                try:
                    told = self.status.recv(20)
                except TimeoutError:
                    raise subprocess.TimeoutExpired("a warm process", timeout or 0.0) from None
                self.status.close()
                self.returncode = int(told)
            return self.returncode

    def communicate(self) -> None:
        for pipe in (self.stdin, self.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        self.wait()


def run_warm(
    arguments: Sequence[object], folder: Path, **settings: str
) -> subprocess.CompletedProcess[str]:
    """What `python -m …` prints and how it exits, without a GPU."""
    command = [sys.executable, "-m", *map(str, arguments)]
    environment = environment_of_a_child(CUDA_VISIBLE_DEVICES="", **settings)
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        with WarmFamily(command, environment, stdout=out, stderr=err, cwd=folder) as family:
            code = family.process.wait()
        for file in (out, err):
            file.seek(0)
        return subprocess.CompletedProcess(command, code, out.read(), err.read())


@functools.cache
def server() -> socket.socket:
    """Where programs are asked for, from the process that forks them."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    family = Family(
        [sys.executable, "-m", "tests.warm_process", str(theirs.fileno())],
        environment_of_a_child(),
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        pass_fds=(theirs.fileno(),),
    )
    theirs.close()
    atexit.register(family.end)
    atexit.register(ours.close)
    return ours


def serve(requests: socket.socket) -> None:
    """Fork a program for each request; returns in the program, with what to run there."""
    for name in IMPORTED:
        importlib.import_module(name)
    # What is never looked at stays in memory that all programs share.
    gc.freeze()
    # What has been forked is waited for by itself.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        message, descriptors, _, _ = socket.recv_fds(requests, MOST_BYTES, 16)
        if not message:
            return
        if os.fork() == 0:
            requests.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _keep(json.loads(message), descriptors)
        for one in descriptors:
            os.close(one)


def _keep(order: dict[str, Any], descriptors: list[int]) -> Never:
    """Run a program in a group of its own and tell how it ends, or end it with who asked for it."""
    os.setsid()
    status = socket.socket(fileno=descriptors[0])
    program = os.fork()
    # On both sides, since either may be the first to need it.
    os.setpgid(program, program)
    if program == 0:
        status.close()
        _become(order, descriptors[1:])
    status.send(b"%d" % program)
    for one in descriptors[1:]:
        os.close(one)
    threading.Thread(target=_end_with, args=(status, program), daemon=True).start()
    _, code = os.waitpid(program, 0)
    status.send(b"%d" % os.waitstatus_to_exitcode(code))
    os._exit(0)


def _end_with(status: socket.socket, program: int) -> None:
    status.recv(1)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(program, signal.SIGKILL)


def _become(order: dict[str, Any], descriptors: list[int]) -> Never:
    """Run a module as Python itself would, in this process."""
    for number, one in enumerate(descriptors[:3]):
        os.dup2(one, number)
    for number, one in zip(order["passed"], descriptors[3:], strict=True):
        if number != one:
            assert number not in descriptors, "a number that another one has"
            os.dup2(one, number)
    os.chdir(order["folder"])
    before = _paths()
    os.environ.clear()
    os.environ.update(order["environment"])
    sys.path[:] = [os.getcwd(), *_paths(), *(x for x in sys.path[1:] if x not in before)]
    sys.argv[1:] = order["command"][1:]
    code: Any = 0
    try:
        runpy.run_module(order["command"][0], run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code
        if isinstance(code, str):
            print(code, file=sys.stderr)
            code = 1
    except BaseException as error:
        sys.excepthook(type(error), error, error.__traceback__)
        code = 1
    # Python takes apart all that was imported, for which it would all be copied first.
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code or 0)


def _paths() -> list[str]:
    return [x for x in os.environ.get("PYTHONPATH", "").split(os.pathsep) if x]


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
