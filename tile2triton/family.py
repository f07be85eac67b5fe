"""Processes that end, with everything that they start, when the process that started them ends."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any, Self

# Waits for the end of its input, which only the parent can write to, and then ends the group. The
# parent may be killed, and the child may hang with Python's lock, so that neither could do it.
_GUARD = 'read -r group || exit; read -r end; kill -s KILL -- "-$group"'


class Group:
    """A process in a group of its own, in which is all that it starts."""

    process: subprocess.Popen[Any]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def kill(self) -> None:
        """End the process and all that it started, from any thread."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def end(self) -> None:
        """The same, and wait until the process has gone."""
        self.kill()
        self.process.wait()


class Family(Group):
    """A group with a guard outside of it."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], **options: Any
    ) -> None:
        self.guard = subprocess.Popen(
            ["/bin/sh", "-c", _GUARD],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        _guards.add(self.guard)
        try:
            self.process = subprocess.Popen(
                command, env=environment, start_new_session=True, **options
            )
            assert self.guard.stdin is not None
            os.write(self.guard.stdin.fileno(), b"%d\n" % self.process.pid)
        except BaseException:
            self._dismiss_guard()
            raise

    def end(self) -> None:
        super().end()
        self._dismiss_guard()

    def _dismiss_guard(self) -> None:
        _guards.discard(self.guard)
        # Its input is closed last: it would end the group of another process with that number.
        self.guard.kill()
        self.guard.wait()
        assert self.guard.stdin is not None
        self.guard.stdin.close()


_guards: set[subprocess.Popen[bytes]] = set()


def _leave_guards_to_parent() -> None:
    """A process that was forked must not keep alive what should end with its parent."""
    for guard in _guards:
        assert guard.stdin is not None
        guard.stdin.close()
    _guards.clear()


os.register_at_fork(after_in_child=_leave_guards_to_parent)
