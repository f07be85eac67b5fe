"""Build trees from text: `stmts("a = tl.load(p)", p=tree)` puts a tree where its name stands."""

import ast
from typing import TypeVar, cast

Tree = TypeVar("Tree", bound=ast.AST)


def stmts(template: str, **trees: ast.expr | str) -> list[ast.stmt]:
    """The statements of `template`, with each name that is a keyword replaced by its tree.

    A keyword given as text is a new name, also where the template assigns to it.
    """
    module = ast.parse(template)
    return [cast(ast.stmt, _Fill(trees).visit(stmt)) for stmt in module.body]


def expr(template: str, **trees: ast.expr | str) -> ast.expr:
    """The one expression of `template`, filled like `stmts`."""
    tree = ast.parse(template, mode="eval").body
    return cast(ast.expr, _Fill(trees).visit(tree))


def name(identifier: str) -> ast.Name:
    return ast.Name(identifier, ast.Load())


def literal(value: int | float | bool | str | None) -> ast.expr:
    """A constant: a minus before negative numbers, `float("...")` for infinities and NaN."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return expr(f"float({str(value)!r})")
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value < 0:
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(value)


def copy_tree(tree: Tree) -> Tree:
    """A copy that shares no node with `tree`; several times faster than `copy.deepcopy`."""
    made = tree.__class__.__new__(tree.__class__)
    for key, value in vars(tree).items():
        if isinstance(value, list):
            value = [copy_tree(v) if isinstance(v, ast.AST) else v for v in value]
        elif isinstance(value, ast.AST):
            value = copy_tree(value)
        setattr(made, key, value)
    return made


def place(tree: Tree, like: ast.AST) -> Tree:
    """Give every node of `tree` that has no place yet the source position of `like`."""
    for node in ast.walk(tree):
        if "lineno" in node._attributes and getattr(node, "lineno", None) is None:
            ast.copy_location(node, like)
            if hasattr(like, "filename"):
                node.filename = like.filename  # type: ignore[attr-defined]
    return tree


class _Fill(ast.NodeTransformer):
    def __init__(self, trees: dict[str, ast.expr | str]) -> None:
        self.trees = trees

    def visit_Name(self, node: ast.Name) -> ast.expr:
        tree = self.trees.get(node.id)
        if tree is None:
            return node
        if isinstance(tree, str):
            return ast.Name(tree, node.ctx)
        return copy_tree(tree)
