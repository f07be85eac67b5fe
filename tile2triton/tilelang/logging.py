"""`tilelang.logger` and `set_log_level`."""

from __future__ import annotations

import logging

logger = logging.getLogger("tilelang")


def set_log_level(level: str | int) -> None:
    """Which messages are shown: a name such as "INFO", or its number."""
    logger.setLevel(level.upper() if isinstance(level, str) else level)
