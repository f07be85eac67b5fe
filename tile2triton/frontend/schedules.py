"""Schedules of warps (`T.WSSchedule` and its parts): plans for a kernel that is one line of text.

The kernel's statements already stand in an order that gives its result, and Triton makes its own
schedule; so the objects are made, and nothing is done with them.
"""

from __future__ import annotations

import contextlib
import enum
from typing import Any

from tile2triton.frontend.erasures import erase
from tile2triton.frontend.failures import failure

# The key of `annotations={T.WSID: name}`.
WSID = "tl.ws_op_id"


class WSSyncKind(enum.Enum):
    """What a step of a role waits for or signals."""

    PRODUCER_ACQUIRE = enum.auto()
    PRODUCER_COMMIT = enum.auto()
    CONSUMER_WAIT = enum.auto()
    CONSUMER_RELEASE = enum.auto()


class WSRole:
    """A range of warps with one duty."""

    def __init__(self, name: str, *, warps_lo: int, warps_hi: int, max_nreg: int = 0) -> None: ...


class WSPipeline:
    """Buffers that are there in several versions."""

    def __init__(self, name: str, buffers: list[Any], depth: int) -> None: ...


class WSInstr:
    """One step of a role."""


class WSOpRef(WSInstr):
    """The operator or loop of this id."""

    def __init__(self, id: str) -> None: ...


class WSSync(WSInstr):
    """A step that waits or signals."""

    def __init__(self, kind: WSSyncKind, pipeline: str, stage: int = 0) -> None: ...

    @classmethod
    def producer_acquire(cls, pipeline: str, stage: int = 0) -> WSSync:
        return cls(WSSyncKind.PRODUCER_ACQUIRE, pipeline, stage)

    @classmethod
    def producer_commit(cls, pipeline: str, stage: int = 0) -> WSSync:
        return cls(WSSyncKind.PRODUCER_COMMIT, pipeline, stage)

    @classmethod
    def consumer_wait(cls, pipeline: str, stage: int = 0) -> WSSync:
        return cls(WSSyncKind.CONSUMER_WAIT, pipeline, stage)

    @classmethod
    def consumer_release(cls, pipeline: str, stage: int = 0) -> WSSync:
        return cls(WSSyncKind.CONSUMER_RELEASE, pipeline, stage)


class WSScope:
    """A loop, and what each role does in it."""

    ROOT = "tl.ws_scope_root"

    def __init__(self, id: str, bodies: dict[str, list[Any]]) -> None: ...


class WSSchedule:
    """The plan of one kernel."""

    def __init__(
        self,
        num_warps: int,
        roles: list[WSRole],
        pipelines: list[WSPipeline],
        scopes: list[WSScope],
    ) -> None: ...


def annotate_ws_schedule(schedule: WSSchedule) -> None:
    """Say how warps share the kernel out; left out, since Triton makes its own schedule."""
    if not isinstance(schedule, WSSchedule):
        raise failure(
            "T2T703",
            f"T.annotate_ws_schedule takes a T.WSSchedule, but `{schedule!r}` is none",
            hint="make one: T.WSSchedule(num_warps=8, roles=[...], pipelines=[...], scopes=[...])",
        )
    erase("T.annotate_ws_schedule(…)", "the statements stand in an order that gives the result")


@contextlib.contextmanager
def ws_op(op_id: str) -> Any:
    """Name the statements inside for T.WSSchedule."""
    yield
