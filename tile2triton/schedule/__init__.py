"""Schedules: how a program is run, apart from what it computes."""

from tile2triton.schedule.schedule import Schedule, annotation, rescheduled, scheduled

__all__ = ["Schedule", "annotation", "rescheduled", "scheduled"]
