"""Build trees from text: `stmts("a = tl.load(p)", p=tree)` puts a tree where its name stands."""

import ast
import functools
from collections.abc import Mapping
from typing import TypeVar, cast

from rewrites.tree import walk

Tree = TypeVar("Tree", bound=ast.AST)


def stmts(template: str, **trees: ast.expr | str) -> list[ast.stmt]:
    """The statements of `template`, with each name that is a keyword replaced by its tree.

    A keyword given as text is a new name, also where the template assigns to it.
    """
    return [_filled(statement, trees) for statement in _parsed(template)]


def expr(template: str, **trees: ast.expr | str) -> ast.expr:
    """The one expression of `template`, filled like `stmts`."""
    (statement,) = _parsed(template)
    assert isinstance(statement, ast.Expr), template
    return _filled(statement.value, trees)


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
    return _filled(tree, {})


def substituted(tree: Tree, trees: Mapping[str, ast.expr | str]) -> Tree:
    """A copy in which trees stand for names."""
    return _filled(tree, trees)


def place(tree: Tree, like: ast.AST) -> Tree:
    """Give every node of `tree` that has no place yet the source position of `like`."""
    for node in walk(tree):
        if "lineno" in node._attributes and not getattr(node, "lineno", None):
            ast.copy_location(node, like)
            if hasattr(like, "filename"):
                node.filename = like.filename  # type: ignore[attr-defined]
    return tree


def stand_for(made: ast.stmt, statement: ast.stmt) -> None:
    """Give a statement, but not what is in it, the position of the one it was made of.

    One that has a position already keeps it.
    """
    if not getattr(made, "lineno", 0):
        ast.copy_location(made, statement)
        if hasattr(statement, "filename"):
            made.filename = statement.filename  # type: ignore[attr-defined]


# Templates are few, and parsing one takes longer than copying its tree.
@functools.lru_cache(maxsize=1024)
def _parsed(template: str) -> tuple[ast.stmt, ...]:
    """The statements of a template, in line 0: what is made of them stands where it is put."""
    body = ast.parse(template).body
    for node in (inner for statement in body for inner in walk(statement)):
        for attribute in node._attributes:
            setattr(node, attribute, 0)
    return tuple(body)


def _filled(tree: Tree, trees: Mapping[str, ast.expr | str]) -> Tree:
    """A copy in which each name of `trees` is replaced."""
    if trees and isinstance(tree, ast.Name) and tree.id in trees:
        put = trees[tree.id]
        made = ast.Name(put, tree.ctx) if isinstance(put, str) else copy_tree(put)
        return cast(Tree, made)
    copied = tree.__class__.__new__(tree.__class__)
    fields = copied.__dict__
    fields.update(tree.__dict__)
    for key in tree._fields:
        value = fields.get(key)
        if isinstance(value, list):
            fields[key] = [_filled(v, trees) if isinstance(v, ast.AST) else v for v in value]
        # Operators and contexts have nothing inside that could be shared.
        elif isinstance(value, ast.AST) and value._fields:
            fields[key] = _filled(value, trees)
    return copied
