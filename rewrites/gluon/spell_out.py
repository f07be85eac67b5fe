"""Functions of Triton's language that Gluon's lacks, in what it has."""

import ast

from rewrites.quote import copy_tree, expr


def spell_out(kernel: ast.FunctionDef) -> ast.FunctionDef:
    """Write what Gluon has no name for as Triton computes it.

    before: y = x * tl.sigmoid(x)
    after: y = x * (1 / (1 + tl.exp(-x)))
    """
    made: ast.FunctionDef = _SpellOut().visit(copy_tree(kernel))
    return made


class _SpellOut(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="tl"), attr="sigmoid"), args=[inner]
            ):
                return ast.copy_location(expr("1 / (1 + tl.exp(-x))", x=inner), node)
        return node
