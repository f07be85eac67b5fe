"""Schedules: how a program is run, apart from what it computes."""

from tile2triton.schedule.schedule import (
    Schedule,
    annotation,
    as_schedule,
    beside,
    rescheduled,
    scheduled,
)

__all__ = ["Schedule", "annotation", "as_schedule", "beside", "rescheduled", "scheduled"]
