"""Which line of the user's each line of an emitted module comes from, and statements' lines."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rewrites.nodes import Blank, Comment


@dataclass(frozen=True, order=True)
class Place:
    """A line of one of the user's files."""

    filename: str
    line: int


def origins(tree: ast.Module, text: str, filename: str) -> dict[int, Place]:
    """The places of those lines of `text` that kernels stand in.

    `text` is what `tree`, the lowered kernels, was printed as, with more around them; `filename`
    is the file of nodes that name none.
    """
    printed = {
        node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)
    }
    lines = text.splitlines()
    found: dict[int, Place] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name in printed:
            for made, shown in _pairs([node], [printed[node.name]]):
                if getattr(made, "lineno", 0):
                    place = Place(made.__dict__.get("filename") or filename, made.lineno)
                    found.update(dict.fromkeys(_own_lines(shown, lines), place))
    return found


def statement_lines(text: str) -> dict[int, int]:
    """The first line of the statement that each line of a module's functions is of.

    Of loops, branches and functions the header counts; what is in them are other statements.
    """
    lines = text.splitlines()
    return {
        line: node.lineno
        for function in ast.parse(text).body
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.stmt)
        for line in _own_lines(node, lines)
    }


def _pairs(
    made: Sequence[ast.stmt], printed: Sequence[ast.stmt]
) -> Iterator[tuple[ast.stmt, ast.stmt]]:
    """Each statement of a tree with the one that it was printed as."""
    nodes = [node for node in made if not isinstance(node, (Comment, Blank))]
    for node, shown in zip(nodes, printed, strict=True):
        yield node, shown
        for field in ("body", "orelse"):
            yield from _pairs(getattr(node, field, []), getattr(shown, field, []))


def _own_lines(node: ast.stmt, lines: Sequence[str]) -> range:
    """The lines of a statement, without those of what is in it; comments above it are its own."""
    first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
    while first > 1 and lines[first - 2].lstrip().startswith("#"):
        first -= 1
    last = node.end_lineno or node.lineno
    body: list[ast.stmt] = getattr(node, "body", [])
    if body:
        last = body[0].lineno - 1
        while last > node.lineno and _is_aside(lines[last - 1]):
            last -= 1
    return range(first, max(last, node.lineno) + 1)


def _is_aside(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")
