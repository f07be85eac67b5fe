"""A tree as formatted source text, through astor's two hooks, with comments and blank lines."""

import ast
import warnings
from collections.abc import Sequence

with warnings.catch_warnings():
    # astor 0.8.1 reads ast.Str and its kin on import, deprecated from Python 3.12.
    warnings.filterwarnings("ignore", r"ast\.\w+ is deprecated", DeprecationWarning)
    import astor

from rewrites.nodes import Blank, Comment
from tile2triton.layout import Doc, layout
from tile2triton.printing.expressions import INSIDE, TOP, expression, tuple_items
from tile2triton.printing.literals import docstring
from tile2triton.printing.parentheses import (
    assigned,
    flat,
    imported,
    last_expression,
    parenthesized_if_broken,
    returned,
)
from tile2triton.printing.precedence import BINARY
from tile2triton.printing.same_tree import difference
from tile2triton.printing.signature import signature


def to_source(tree: ast.AST) -> str:
    """The source text of a module, a statement or an expression.

    The text is laid out like `ruff format` does, for 88 columns. It parses back to the same tree.
    """
    if isinstance(tree, ast.expr):
        text = layout([expression(tree, TOP)])
        found = difference(tree, ast.parse(text, mode="eval").body)
    else:
        module = tree if isinstance(tree, ast.Module) else ast.Module([tree], [])  # type: ignore[list-item]
        text = astor.to_source(module, source_generator_class=Printer, pretty_source=layout)
        found = difference(module, ast.parse(text))
    assert found is None, f"the printed text does not parse back to its tree: {found}\n{text}"
    return text


class Printer(astor.SourceGenerator):  # type: ignore[misc]
    """Writes statements; every line of them is one document for the layout."""

    def visit(self, node: ast.AST, *rest: object) -> None:
        if isinstance(node, ast.expr):
            self.write((expression(node, TOP),))
        else:
            super().visit(node, *rest)

    def line(self, *parts: Doc) -> None:
        self.newline()
        self.write(parts)

    def body(self, statements: Sequence[ast.stmt], may_document: bool = False) -> None:
        self.indentation += 1
        self.block(statements, may_document)
        self.indentation -= 1

    def block(self, statements: Sequence[ast.stmt], may_document: bool = False) -> None:
        previous: ast.stmt | None = None
        for index, stmt in enumerate(statements):
            if not isinstance(stmt, Blank):
                if previous is not None:
                    around = 1 if self.indentation else 2
                    self.newline(extra=blank_lines(statements, index, around))
                text = docstring(stmt) if may_document and previous is None else None
                if text is None:
                    self.visit(stmt)
                else:
                    self.line(text)
                    if not self.indentation:
                        self.newline(extra=1)
            elif previous is not None:
                self.newline(extra=1)
            previous = stmt

    def visit_Module(self, node: ast.Module) -> None:
        self.block(node.body, may_document=True)

    def visit_Comment(self, node: Comment) -> None:
        self.line(f"# {node.text}" if node.text else "#")

    def visit_FunctionDef(self, node: ast.FunctionDef, is_async: bool = False) -> None:
        for decorator in node.decorator_list:
            self.line("@", expression(decorator, TOP))
        returns: Doc = " -> " + flat(expression(node.returns, TOP)) if node.returns else ""
        word = "async def" if is_async else "def"
        self.line(f"{word} {node.name}", signature(node.args), returns, ":")
        self.body(node.body, may_document=True)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.line(assigned(node.targets, " = ", node.value))

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        symbol = BINARY[type(node.op)][1]
        self.line(assigned([node.target], f" {symbol}= ", node.value))

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        value: Doc = (" = ", last_expression(node.value)) if node.value else ""
        target, annotation = expression(node.target, TOP), expression(node.annotation, TOP)
        self.line(target, ": ", annotation, value)

    def visit_Expr(self, node: ast.Expr) -> None:
        self.line(last_expression(node.value))

    def visit_Return(self, node: ast.Return) -> None:
        self.line("return ", returned(node.value)) if node.value else self.line("return")

    def visit_Raise(self, node: ast.Raise) -> None:
        error: Doc = (" ", last_expression(node.exc)) if node.exc else ""
        cause: Doc = (" from ", last_expression(node.cause)) if node.cause else ""
        self.line("raise", error, cause)

    def visit_Assert(self, node: ast.Assert) -> None:
        message: Doc = ""
        if node.msg:
            message = (", ", parenthesized_if_broken(expression(node.msg, INSIDE)))
        self.line("assert ", last_expression(node.test), message)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self.line("from ", "." * node.level, node.module or "", " import ", imported(node.names))

    def visit_If(self, node: ast.If, word: str = "if ") -> None:
        self.line(word, last_expression(node.test), ":")
        self.body(node.body)
        if len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
            self.visit_If(node.orelse[0], "elif ")
        else:
            self.otherwise(node.orelse)

    def visit_For(self, node: ast.For, is_async: bool = False) -> None:
        target, source = tuple_items(node.target, TOP), last_expression(node.iter)
        self.line("async for " if is_async else "for ", target, " in ", source, ":")
        self.body(node.body)
        self.otherwise(node.orelse)

    def visit_While(self, node: ast.While) -> None:
        self.line("while ", last_expression(node.test), ":")
        self.body(node.body)
        self.otherwise(node.orelse)

    def otherwise(self, statements: Sequence[ast.stmt]) -> None:
        if statements:
            self.line("else:")
            self.body(statements)

    def visit_With(self, node: ast.With, is_async: bool = False) -> None:
        parts: list[Doc] = []
        for item in node.items:
            parts += (", " if parts else "", expression(item.context_expr, TOP))
            if item.optional_vars:
                parts += (" as ", expression(item.optional_vars, TOP))
        self.line("async with " if is_async else "with ", *parts, ":")
        self.body(node.body)


def blank_lines(statements: Sequence[ast.stmt], index: int, around_definition: int) -> int:
    """How many empty lines a formatter wants between a statement and the one before it."""
    previous, stmt = statements[index - 1], statements[index]
    if is_definition(previous):
        return around_definition
    if leads_to_definition(statements, index):
        return 0 if isinstance(previous, Comment) else around_definition
    imports = (ast.Import, ast.ImportFrom)
    return int(isinstance(previous, imports) and not isinstance(stmt, imports))


def is_definition(stmt: ast.stmt) -> bool:
    return isinstance(stmt, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))


def leads_to_definition(statements: Sequence[ast.stmt], index: int) -> bool:
    """Whether a statement is a definition or one of the comments right above one."""
    for stmt in statements[index:]:
        if not isinstance(stmt, Comment):
            return is_definition(stmt)
    return False
