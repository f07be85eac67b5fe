"""Where a function is written: its tree with true file positions, its comments and blank lines."""

import ast
import functools
import inspect
import io
import linecache
import tokenize
from dataclasses import dataclass, field
from types import CodeType
from typing import cast

from tile2triton.diagnostics import Diagnostic, TileError


@dataclass(frozen=True)
class Remark:
    """A comment of the user's; `alone` where nothing else stands on its line."""

    line: int
    column: int
    text: str
    alone: bool


@dataclass(frozen=True)
class Source:
    """A function's text, as a tree whose positions are those of the file."""

    tree: ast.FunctionDef
    filename: str
    remarks: tuple[Remark, ...] = ()
    blanks: frozenset[int] = field(default_factory=frozenset)


# Comments that speak to a tool about the user's file and mean nothing in the emitted one.
_PRAGMAS = ("type:", "noqa", "fmt:", "ruff:", "pragma:", "pylint:", "mypy:", "pyright:", "isort:")


def read_code(code: CodeType) -> Source:
    """The source of a function's code. Raises TileError where Python does not know the text."""
    if code.co_name == "<lambda>":
        raise TileError(
            Diagnostic(
                "T2T103",
                "a lambda cannot be a kernel",
                code.co_filename,
                code.co_firstlineno,
                hint="write it as a function, with `def`",
            )
        )
    found = find_function(code)
    if found is None:
        raise TileError(
            Diagnostic(
                "T2T101",
                f"the source text of `{code.co_name}` is not available",
                hint="define the kernel in a file or a notebook cell, not in exec() or `python -c`",
            )
        )
    tree, lines, first = found
    remarks = tuple(_remarks(lines, first))
    blanks = frozenset(first + at for at, text in enumerate(lines) if not text.strip())
    return Source(tree, code.co_filename, remarks, blanks)


Found = tuple[ast.FunctionDef, list[str], int]


def find_function(code: CodeType) -> Found | None:
    """The function's tree, its lines and the first's number; None where there is no text."""
    return _find(code, code.co_filename)


@functools.lru_cache(maxsize=256)
def _find(code: CodeType, filename: str) -> Found | None:
    """Cached by the file too: equal code of two files is equal to Python."""
    linecache.checkcache(filename)
    lines = linecache.getlines(filename)
    first = code.co_firstlineno
    if not lines or first > len(lines):
        return None
    block = inspect.getblock(lines[first - 1 :])
    text = "".join(block)
    # An indented function is parsed as the body of an `if`, which leaves its columns true.
    indented = text[:1].isspace()
    try:
        module = ast.parse("if True:\n" + text if indented else text, filename)
    except SyntaxError:
        return None
    ast.increment_lineno(module, first - (2 if indented else 1))
    for node in ast.walk(module):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == code.co_name:
            return cast(ast.FunctionDef, node), block, first
    return None


def _remarks(lines: list[str], first: int) -> list[Remark]:
    """The comments of the block, without those meant for tools."""
    reader = io.StringIO("".join(lines)).readline
    found = []
    try:
        for token in tokenize.generate_tokens(reader):
            text = token.string.lstrip("#").strip()
            if token.type != tokenize.COMMENT or not text or text.startswith(_PRAGMAS):
                continue
            line, column = token.start
            alone = not token.line[:column].strip()
            found.append(Remark(first + line - 1, column, text, alone))
    except (tokenize.TokenError, IndentationError):
        # An indented block ends without its dedent, which the tokenizer may mind at the very end.
        pass
    return found
