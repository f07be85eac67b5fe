"""What a kernel says that leaves nothing in its tree."""

from __future__ import annotations

from rewrites.facts import Erasure
from tile2triton.frontend.builder import require
from tile2triton.frontend.positions import here


def erase(construct: str, reason: str) -> None:
    """Record that the construct at the user's line is left out."""
    builder = require(construct)
    position = here()
    # A comment on what leaves no statement would end up on another.
    builder.drop_comment()
    is_elsewhere = position.filename != builder.facts.filename
    filename = position.filename if is_elsewhere else ""
    builder.facts.erased.append(Erasure(construct, position.line, reason, filename))
