"""Operands that stand for more elements than the one they name."""

import ast
from collections.abc import Iterator

from rewrites.facts import Facts
from rewrites.tree import walk


def wide_operands(tree: ast.AST, facts: Facts) -> Iterator[ast.expr]:
    """The operands in a tree of operators that go on to the neighbours along the last dimension."""
    for node in walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr=function), args=args, keywords=keywords):
                operator = facts.operators.get(function)
                if operator is not None and operator.width > 1:
                    yield from (*args, *(keyword.value for keyword in keywords))
