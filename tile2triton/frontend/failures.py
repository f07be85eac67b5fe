"""Raise the user's error at the place of their code that is being evaluated."""

from tile2triton.diagnostics import Diagnostic, TileError, at_span
from tile2triton.frontend.positions import here


def failure(
    code: str, message: str, found: tuple[str, ...] = (), hint: str = ""
) -> TileError:
    """An error at the user's expression that is being evaluated, to raise."""
    return TileError(failure_here(code, message, found, hint))


def failure_here(
    code: str, message: str, found: tuple[str, ...] = (), hint: str = ""
) -> Diagnostic:
    """The same as a record, for errors that are collected."""
    position = here()
    return at_span(position.filename, position.span, code, message, found, hint)
