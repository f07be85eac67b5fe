"""The rows of the tables: what came of one file."""

import re
from typing import Any

Row = dict[str, Any]


def row_of(verdict: str, reason: str, **more: Any) -> Row:
    """A row, with further columns."""
    return {"verdict": verdict, "reason": reason, **more}


def last_line(output: str) -> str:
    """The last error that a program printed, or else its last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"[\w.]*(?:Error|Exception)\b", line)]
    return ((errors or lines or [""])[-1])[:300]
