"""What is started ends with the process that started it, however that one ends."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.child_process import environment_of_a_child

# Starts a child of its own, writes both numbers and hangs with Python's lock.
HANGING = """\
import os, subprocess, sys
child = subprocess.Popen(["sleep", "600"])
with open(sys.argv[1] + ".new", "w") as file:
    print(os.getpid(), child.pid, file=file)
os.rename(sys.argv[1] + ".new", sys.argv[1])
sum(1 for _ in iter(int, 1))
"""
# A shell's background jobs, and what they start, ignore SIGINT.
PARENT = """\
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from tile2triton.family import Family
with Family([sys.executable, "-S", sys.argv[1], sys.argv[2]], os.environ) as family:
    family.process.wait()
"""


@pytest.fixture
def started(tmp_path):
    """Start a command that leads to `hanging.py`: the process, and the numbers of what hangs."""
    (tmp_path / "hanging.py").write_text(HANGING)
    (tmp_path / "parent.py").write_text(PARENT)
    numbers, processes = tmp_path / "numbers", []

    def start(*command):
        with (tmp_path / "output").open("w") as output:
            process = subprocess.Popen(
                [sys.executable, *map(str, command)],
                env=environment_of_a_child(),
                stdout=output,
                stderr=output,
            )
        processes.append(process)
        wait_until(numbers.exists, (tmp_path / "output").read_text)
        return process, [int(number) for number in numbers.read_text().split()]

    yield start
    for process in processes:
        process.kill()
        process.wait()
    if numbers.exists():
        for number in numbers.read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(number), signal.SIGKILL)


def wait_until(happened, what=lambda: "not within a minute"):
    limit = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < limit, what()
        time.sleep(0.02)


def has_ended(number):
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state == "Z"


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_child_and_its_children_end_with_a_parent_that_is_killed(started, tmp_path, ending):
    process, numbers = started(
        tmp_path / "parent.py", tmp_path / "hanging.py", tmp_path / "numbers"
    )
    assert not any(map(has_ended, numbers))
    process.send_signal(ending)
    process.wait()
    wait_until(lambda: all(map(has_ended, numbers)))


def test_a_fork_of_a_killed_parent_does_not_keep_the_child_alive(started, tmp_path):
    forking = "    if not (fork := os.fork()):\n        time.sleep(20)\n        os._exit(0)\n"
    (tmp_path / "parent.py").write_text(
        "import time\n" + PARENT.replace("    fam", forking + "    fam")
    )
    began = time.monotonic()
    process, numbers = started(
        tmp_path / "parent.py", tmp_path / "hanging.py", tmp_path / "numbers"
    )
    process.kill()
    wait_until(lambda: all(map(has_ended, numbers)))
    assert time.monotonic() - began < 15


@pytest.mark.slow
def test_a_script_ends_with_its_check(started, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(HANGING)
    command = ["check", script, "--no-compile", "--", tmp_path / "numbers"]
    process, numbers = started("-m", "tile2triton", *command)
    process.kill()
    wait_until(lambda: all(map(has_ended, numbers)))
