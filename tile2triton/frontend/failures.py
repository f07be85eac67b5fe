"""Raise the user's error at the place of their code that is being evaluated."""

from tile2triton.diagnostics import TileError, at_span
from tile2triton.frontend.positions import Position, here


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
