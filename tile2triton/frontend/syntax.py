"""Python's syntax that no kernel can have, found before the kernel is executed."""

from __future__ import annotations

import ast

from tile2triton.diagnostics import Diagnostic, at_node
from tile2triton.source import Source


def syntax_problems(source: Source) -> tuple[Diagnostic, ...]:
    """Every unsupported construct of the function, in source order."""
    finder = _Finder(source.filename)
    if isinstance(source.tree, ast.AsyncFunctionDef):
        finder.report(source.tree, "async def", "write a plain function with `def`")
    for statement in source.tree.body:
        finder.visit(statement)
    return tuple(sorted(finder.found, key=lambda problem: (problem.line, problem.column)))


# By the kind of the node: how the user calls it, and what to write instead.
_REFUSED: dict[type[ast.AST], tuple[str, str]] = {
    ast.Match: ("match", "write `if` and `elif`"),
    ast.AsyncFor: ("async for", "write a plain `for`"),
    ast.AsyncWith: ("async with", "write a plain `with`"),
    ast.AsyncFunctionDef: ("async def", "write a plain function with `def`"),
    ast.Await: ("await", "a kernel's operators are called without it"),
    ast.Try: ("try", "check what can go wrong with `if`, before the kernel or in it"),
    ast.TryStar: ("try", "check what can go wrong with `if`, before the kernel or in it"),
    ast.Yield: ("yield", "write the values into a tensor"),
    ast.YieldFrom: ("yield from", "write the values into a tensor"),
    ast.Global: ("global", "return the value, or use T.alloc_var"),
    ast.Nonlocal: ("nonlocal", "return the value, or use T.alloc_var"),
    ast.ClassDef: ("class", "define the class outside of the kernel"),
    ast.Delete: ("del", "leave it out: names end with their block"),
    ast.Import: ("import", "import at the top of the file"),
    ast.ImportFrom: ("import", "import at the top of the file"),
    ast.NamedExpr: (":=", "assign in a statement of its own"),
}


class _Finder(ast.NodeVisitor):
    def __init__(self, filename: str) -> None:
        self.filename = filename
        self.found: list[Diagnostic] = []

    def report(self, node: ast.AST, construct: str, hint: str) -> None:
        self.found.append(
            at_node(
                node, self.filename, "T2T102", f"`{construct}` has no place in a kernel", (), hint
            )
        )

    def visit(self, node: ast.AST) -> None:
        refused = _REFUSED.get(type(node))
        if refused is not None:
            self.report(node, *refused)
            return
        if isinstance(node, (ast.For, ast.While)) and node.orelse:
            word = "for" if isinstance(node, ast.For) else "while"
            self.report(
                node.orelse[0],
                f"{word} … else",
                f"write the statements of the `else` after the `{word}` loop",
            )
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            # A function inside is Python's own, but may not change the kernel's names.
            nested = [n for n in ast.walk(node) if isinstance(n, (ast.Global, ast.Nonlocal))]
            for inner in nested:
                self.report(inner, *_REFUSED[type(inner)])
            return
        self.generic_visit(node)
