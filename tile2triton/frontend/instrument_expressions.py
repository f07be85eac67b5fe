"""Rewrite the expressions of a kernel function that Python must not decide by itself."""

from __future__ import annotations

import ast
from typing import cast

from tile2triton.frontend.liveness import names_in
from tile2triton.frontend.tracer_calls import TRACER, at, call, constant, lazy


class InstrumentExpressions(ast.NodeTransformer):
    """before: `a < b and f(c)`, after: `_t2t_.and_(lambda: …, lambda: …)`."""

    # The tracer's method that `range` stands for; none where the user's function redefines it.
    range_name: str

    def expression(self, node: ast.expr) -> ast.expr:
        return cast(ast.expr, self.visit(node))

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        method = "and_" if isinstance(node.op, ast.And) else "or_"
        return at(node, call(method, *[lazy(self.expression(value)) for value in node.values]))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        node.operand = self.expression(node.operand)
        return at(node, call("not_", node.operand)) if isinstance(node.op, ast.Not) else node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        if any(isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in node.ops):
            return cast(ast.expr, self.generic_visit(node))
        if len(node.ops) == 1:
            sign = ast.Constant(type(node.ops[0]).__name__)
            sides = [self.expression(side) for side in (node.left, node.comparators[0])]
            return at(node, call("compare", sign, *sides))
        signs = ast.Tuple([ast.Constant(type(op).__name__) for op in node.ops], ast.Load())
        rest = [lazy(self.expression(value)) for value in node.comparators]
        return at(node, call("chain", signs, self.expression(node.left), *rest))

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        used = constant(names_in(node.test))
        sides = [lazy(self.expression(side)) for side in (node.body, node.orelse)]
        return at(node, call("select", self.expression(node.test), used, *sides))

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id == "range" and self.range_name and isinstance(node.ctx, ast.Load):
            name = self.range_name
            return at(node, ast.Attribute(ast.Name(TRACER, ast.Load()), name, ast.Load()))
        return node

    def visit_comprehension_expression(self, node: ast.expr) -> ast.expr:
        """Python runs comprehensions itself, with its own `range`."""
        name = self.range_name
        self.range_name = name and "python_range"
        made = self.generic_visit(node)
        self.range_name = name
        return cast(ast.expr, made)

    visit_ListComp = visit_comprehension_expression
    visit_SetComp = visit_comprehension_expression
    visit_DictComp = visit_comprehension_expression
    visit_GeneratorExp = visit_comprehension_expression
