"""The one error that users see: where it is, what was found on each side, what to type instead."""

import ast
import linecache
from collections.abc import Iterable
from dataclasses import dataclass

from rewrites.errors import Problem, RewriteError


@dataclass(frozen=True)
class Diagnostic:
    """One error. `line` and `column` count from 1; `end` is the column after the last character."""

    code: str
    message: str
    filename: str = ""
    line: int = 0
    column: int = 1
    end: int = 2
    found: tuple[str, ...] = ()
    hint: str = ""

    def render(self) -> str:
        """The error as a compiler prints it, with the source line and carets where it has one."""
        lines = [f"error[{self.code}]: {self.message}"]
        margin = " " * len(str(self.line))
        if self.line:
            lines.append(f"{margin}--> {self.filename}:{self.line}:{self.column}")
            text = linecache.getline(self.filename, self.line).rstrip("\n")
            if text:
                carets = "^" * max(1, min(self.end, len(text) + 1) - self.column)
                lines.append(f"{margin} |")
                lines.append(f"{self.line} | {text}")
                lines.append(f"{margin} | {' ' * (self.column - 1)}{carets}")
        lines += [f"{margin} = found: {item}" for item in self.found]
        if self.hint:
            lines.append(f"{margin} = help: {self.hint}")
        return "\n".join(lines)


class TileError(ValueError, RuntimeError):
    """Everything that is wrong with a kernel or a call of it, as `diagnostics`.

    Programs for TileLang await ValueError where its Python part refuses them, and RuntimeError
    where its compiler does.
    """

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__("\n\n".join(item.render() for item in diagnostics))
        self.diagnostics = diagnostics


class ArgumentError(TileError, TypeError):
    """A call of a kernel that does not fit its parameters."""


def at_node(
    node: ast.AST,
    filename: str,
    code: str,
    message: str,
    found: tuple[str, ...] = (),
    hint: str = "",
) -> Diagnostic:
    """An error that points at a node, which says itself where it is from another file."""
    span = (
        getattr(node, "lineno", 0),
        getattr(node, "col_offset", 0),
        getattr(node, "end_lineno", None),
        getattr(node, "end_col_offset", None),
    )
    return at_span(getattr(node, "filename", filename), span, code, message, found, hint)


def at_span(
    filename: str,
    span: tuple[int, int, int | None, int | None],
    code: str,
    message: str,
    found: tuple[str, ...] = (),
    hint: str = "",
) -> Diagnostic:
    """An error at a span of Python's own counting: lines from 1, columns in bytes from 0."""
    line, start, end_line, end = span
    text = linecache.getline(filename, line).rstrip("\n") if line else ""
    column = _characters(text, start)
    if end is None or end_line != line:
        last = len(text) + 1
    else:
        last = _characters(text, end)
    return Diagnostic(code, message, filename, line, column, max(last, column + 1), found, hint)


def from_problems(problems: Iterable[Problem], filename: str) -> TileError:
    """The problems that checks and rewrites found, as the user's error, in source order."""
    found = [
        at_node(item.node, filename, item.code, item.message, item.found, item.hint)
        for item in problems
    ]
    found.sort(key=lambda item: (item.filename != filename, item.filename, item.line, item.column))
    return TileError(*found)


def from_rewrite_error(error: RewriteError, filename: str) -> TileError:
    """A rewrite's refusal as the user's error."""
    return from_problems(error.problems, filename)


def _characters(text: str, offset: int) -> int:
    """The column, from 1, of a byte offset: Python's trees count UTF-8 bytes."""
    return len(text.encode()[:offset].decode(errors="ignore")) + 1
