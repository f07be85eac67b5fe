"""`break`, `continue` and `return` of the kernel's own loops, written as words or as calls."""

from __future__ import annotations

import ast

from tile2triton.frontend.builder import Builder, require
from tile2triton.frontend.failures import failure

_JUMPS: dict[str, type[ast.stmt]] = {
    "break": ast.Break,
    "continue": ast.Continue,
    "return": ast.Return,
}


def record_jump(builder: Builder, word: str) -> None:
    """Record that the kernel leaves its innermost loop, its turn, or itself."""
    builder.record(_JUMPS[word]())


def break_loop() -> None:
    """Leave the innermost loop; the same as `break`."""
    _leave_loop("T.break_loop", "break")


def loop_break() -> None:
    """Leave the innermost loop; the same as `break`."""
    _leave_loop("T.loop_break", "break")


def continue_loop() -> None:
    """Go on with the next turn of the innermost loop; the same as `continue`."""
    _leave_loop("T.continue_loop", "continue")


def thread_return() -> None:
    """End this program of the kernel."""
    record_jump(require("T.thread_return"), "return")


def _leave_loop(what: str, word: str) -> None:
    builder = require(what)
    if not any(block.is_loop for block in builder.blocks):
        raise failure(
            "T2T189",
            f"{what} stands outside of a loop of the kernel",
            hint="loops that Python runs are left with `break` and `continue`",
        )
    record_jump(builder, word)
