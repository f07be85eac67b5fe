"""`tilelang.errors`: names without a meaning here."""

from tile2triton.tilelang.absent import COMPILER, absent

globals().update(
    absent(
        "tilelang.errors",
        "enrich_error _MARKER_RE",
        COMPILER,
    )
)
