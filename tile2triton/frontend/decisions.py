"""What Python decided from named numbers while it ran the user's code, as conditions that held."""

from __future__ import annotations

import ast
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import rewrites
from tile2triton.frontend.positions import here

_HERE = os.path.dirname(os.path.abspath(__file__))
_OURS = (os.path.dirname(_HERE) + os.sep, *(path + os.sep for path in rewrites.__path__))
# Where operations of the user's are carried out for their code.
_FOR_THE_USER = os.path.join(_HERE, "native.py")

_thread = threading.local()


@contextmanager
def noting(conditions: list[ast.expr]) -> Iterator[None]:
    """Add what is decided inside to `conditions`."""
    before = noted()
    _thread.conditions = conditions
    try:
        yield
    finally:
        _thread.conditions = before


def noted() -> list[ast.expr] | None:
    """The conditions so far; None where nobody asks for them."""
    return getattr(_thread, "conditions", None)


def note(condition: ast.expr) -> None:
    """Keep a condition that held and that later code depends on."""
    conditions = noted()
    if conditions is not None:
        here().put(condition)
        conditions.append(condition)


def note_all(conditions: list[ast.expr]) -> None:
    """Keep conditions that were noted aside."""
    known = noted()
    if known is not None:
        known += conditions


def is_asked() -> bool:
    """Whether the caller of the calling method is the user's code, and its decisions count."""
    return noted() is not None and _is_users(sys._getframe(2))


def _is_users(frame: FrameType) -> bool:
    filename = frame.f_code.co_filename
    return filename == _FOR_THE_USER or not filename.startswith(_OURS)
