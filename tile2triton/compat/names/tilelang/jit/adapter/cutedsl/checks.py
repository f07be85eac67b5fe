"""`tilelang.jit.adapter.cutedsl.checks`: whether that back end is there."""

from typing import NoReturn

from tile2triton.tilelang.absent import COMPILER, Absent


def check_cutedsl_available() -> NoReturn:
    """It is not."""
    Absent("tilelang.jit.adapter.cutedsl", COMPILER)()
