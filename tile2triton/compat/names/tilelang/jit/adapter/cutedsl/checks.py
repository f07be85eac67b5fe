"""`tilelang.jit.adapter.cutedsl.checks`: whether that back end is there."""

from typing import NoReturn


def check_cutedsl_available() -> NoReturn:
    """It is not, which callers ask for by catching ImportError."""
    raise ImportError("TileLang's CuTe back end does not run here")
