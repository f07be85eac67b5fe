"""Whole numbers divided as the device does it, where Python follows what a kernel computes."""

import ast


def quotient(a: int, b: int) -> int:
    """Division as the device does it, towards zero."""
    found = abs(a) // abs(b)
    return found if (a < 0) == (b < 0) else -found


class DeviceDivision(ast.NodeTransformer):
    """`a // b` and `a % b` as calls of `_quotient` and `_remainder`."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        function = {ast.FloorDiv: "_quotient", ast.Mod: "_remainder"}.get(type(node.op))
        if function is None:
            return node
        return ast.Call(ast.Name(function, ast.Load()), [node.left, node.right], [])
