"""Raise the user's error at the place of their code that is being evaluated."""

import difflib
from collections.abc import Iterable

from tile2triton.diagnostics import TileError, at_span
from tile2triton.frontend.positions import Position, here


class UnknownNameError(TileError, AttributeError):
    """A name that the language does not have; to `hasattr` and `getattr` it is just not there."""


def unknown_name(name: str, known: Iterable[str]) -> UnknownNameError:
    """The error of `T.name`, at the user's expression that is being evaluated."""
    close = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean `T.{close[0]}`?" if close else "docs/operators.md lists what there is"
    message = f"the language has no `T.{name}`"
    return UnknownNameError(*failure("T2T110", message, hint=hint).diagnostics)


def unknown_attribute(message: str, hint: str) -> UnknownNameError:
    """The error of an attribute that an object of the language does not have."""
    return UnknownNameError(*failure("T2T837", message, hint=hint).diagnostics)


def failure(
    code: str,
    message: str,
    found: tuple[str, ...] = (),
    hint: str = "",
    at: Position | None = None,
) -> TileError:
    """An error to raise, at a place or at the user's expression that is being evaluated."""
    position = at or here()
    return TileError(at_span(position.filename, position.span, code, message, found, hint))
