"""Where the user's code stands at this moment: the position that a traced operation gets."""

import ast
import os
import sys
import sysconfig
from types import CodeType, FrameType, TracebackType
from typing import NamedTuple

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
# The files that the functions are said to be in which a call of a kernel runs.
ENTRIES = "<entry of "
_LIBRARIES = tuple(sysconfig.get_paths()[key] + os.sep for key in ("stdlib", "purelib", "platlib"))


class Position(NamedTuple):
    """A span of a file, in the counting of Python's trees."""

    filename: str
    line: int
    column: int
    end_line: int
    end_column: int

    def put(self, node: ast.AST) -> None:
        """Give a node this position."""
        node.lineno, node.col_offset = self.line, self.column  # type: ignore[attr-defined]
        node.end_lineno, node.end_col_offset = self.end_line, self.end_column  # type: ignore[attr-defined]
        node.filename = self.filename  # type: ignore[attr-defined]

    @property
    def span(self) -> tuple[int, int, int, int]:
        return self.line, self.column, self.end_line, self.end_column


_spans: dict[int, tuple[CodeType, list[tuple[int | None, int | None, int | None, int | None]]]] = {}


def is_users(filename: str) -> bool:
    """Whether a file of code is none of ours and of no library."""
    return not filename.startswith((_PACKAGE, *_LIBRARIES, "<frozen"))


def here() -> Position:
    """The position of the innermost user's expression that is being evaluated."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith((_PACKAGE, ENTRIES)):
        frame = frame.f_back
    if frame is None or frame.f_code.co_filename.startswith("<frozen"):
        # A command runs, and no code of the user's.
        return Position("", 0, 0, 0, 0)
    return _position(frame.f_code, frame.f_lasti, frame.f_lineno)


def of_traceback(traceback: TracebackType | None) -> Position:
    """The deepest place of the user's in a traceback; libraries they call are not theirs."""
    best = Position("", 0, 0, 0, 0)
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if is_users(code.co_filename):
            best = _position(code, traceback.tb_lasti, traceback.tb_lineno)
        traceback = traceback.tb_next
    return best


def _position(code: CodeType, instruction: int, line: int) -> Position:
    known = _spans.get(id(code))
    if known is None or known[0] is not code:
        # Bounded, because a long-lived process may trace any number of functions.
        if len(_spans) > 500:
            _spans.clear()
        known = _spans[id(code)] = (code, list(code.co_positions()))
    index = instruction // 2
    if index < 0 or index >= len(known[1]):
        return Position(code.co_filename, line, 0, line, 0)
    start, end, column, end_column = known[1][index]
    return Position(
        code.co_filename, start or line, column or 0, end or start or line, end_column or 0
    )
