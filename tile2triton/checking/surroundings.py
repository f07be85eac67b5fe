"""What stands around a script under check: a GPU that poses as present, and who follows it."""

from __future__ import annotations

import contextlib
import importlib
import json
from collections.abc import Iterator
from typing import NamedTuple

import torch

from tile2triton.checking.absent import Absent, AbsentPackages, Missed
from tile2triton.checking.calls import Counts, answering
from tile2triton.checking.events import Event, Teller
from tile2triton.checking.launches import launching_nothing
from tile2triton.checking.processes import follow
from tile2triton.checking.recorder import Recorder
from tile2triton.observing import observed_by
from tile2triton.posing.gpu import posing
from tile2triton.targets import target

# Only their shapes would be taken, and a machine without a GPU has no compiler for them.
NOT_DONE = {
    "torch.utils.cpp_extension.load": lambda *_, **__: Absent("a C++ extension"),
    "torch.utils.cpp_extension.load_inline": lambda *_, **__: Absent("a C++ extension"),
}


class Followers(NamedTuple):
    """Who notes what the script makes, and what it lacks."""

    recorder: Recorder
    missed: Missed


@contextlib.contextmanager
def surroundings(order: Event) -> Iterator[Followers]:
    """Put this process under check."""
    tell = Teller(order["events"])
    # What is computed is small.
    torch.set_num_threads(1)
    recorder = Recorder(order["targets"], order["compiles"], tell)
    with contextlib.suppress(ModuleNotFoundError):
        importlib.import_module("tile2triton.compat")
    AbsentPackages(order["absent"]).install()
    missed = Missed()
    missed.install()
    follow(order, missed, tell)
    gpu = target(order["targets"][0])
    with (
        posing(gpu, NOT_DONE),
        launching_nothing(gpu),
        observed_by(recorder),
        answering(Counts(tell)),
    ):
        yield Followers(recorder, missed)


_staying = contextlib.ExitStack()


def stay(order: str) -> None:
    """Put a process under check, until it ends, that one under check starts."""
    _staying.enter_context(surroundings(json.loads(order)))
