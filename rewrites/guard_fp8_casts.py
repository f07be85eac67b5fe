"""Keep ptxas from packing equal pairs of fp8 numbers, which it does wrong (`known_miscompiles.py`).

A cast makes fp8 numbers two by two. Where the compiler proves that two pairs which lie side by side
are equal, ptxas 12.8 and 12.9 put one of them there and leave the other to chance. Numbers that
come from memory or from a GEMM, each its own, are never proved equal. To the bytes of others a zero
is added that no compiler knows, after which they are packed one by one.

before:
    def k(A, C, n):
        bx = tl.program_id(0)
        offs = tl.arange(0, 64)
        x = tl.load(A + offs)
        tl.store(C + offs, (x * n).to(tl.float8e5))
        tl.store(C + offs, (offs // 4 * 1.0).to(tl.float8e5))

after:
    def k(A, C, n):
        bx = tl.program_id(0)
        zero = (tl.program_id(0) // tl.num_programs(0)).to(tl.uint8)
        offs = tl.arange(0, 64)
        x = tl.load(A + offs)
        tl.store(C + offs, (x * n).to(tl.float8e5))
        tl.store(C + offs, ((offs // 4 * 1.0).to(tl.float8e5).to(tl.uint8, bitcast=True) + \
zero).to(tl.float8e5, bitcast=True))
"""

import ast

from rewrites.distinct_values import Values
from rewrites.environment import Names
from rewrites.facts import Facts
from rewrites.nodes import Comment
from rewrites.quote import expr, name, stmts
from rewrites.tree import kernels_of, walk

CASTS = ("tl.float8e5", "tl.float8e4nv")
GUARDED = "(cast.to(tl.uint8, bitcast=True) + zero).to(dtype, bitcast=True)"
ZERO = "zero = (tl.program_id(0) // tl.num_programs(0)).to(tl.uint8)"
REMARK = "With it fp8 numbers are packed one by one: ptxas 12.8 packs equal pairs of them wrong."


def run(tree: ast.Module, facts: Facts) -> ast.Module:
    """Guard the casts to fp8 whose operands are not proved to differ from element to element."""
    if facts.target.startswith("hip"):
        return tree
    for kernel in kernels_of(tree):
        if any(_is_cast(node) for node in walk(kernel)):
            _guard(kernel, facts)
    return tree


def _guard(kernel: ast.FunctionDef, facts: Facts) -> None:
    values = Values(kernel)
    guard = _Guard(values, Names.of(kernel, facts).fresh("zero"))
    values.follow(kernel.body, guard.visit)
    if guard.is_used:
        at = _behind_program_ids(kernel.body)
        kernel.body[at:at] = [Comment(REMARK), *stmts(ZERO, zero=guard.zero)]


class _Guard(ast.NodeTransformer):
    def __init__(self, values: Values, zero: str) -> None:
        self.values = values
        self.zero = zero
        self.is_used = False

    def visit_Call(self, node: ast.Call) -> ast.expr:
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr="to")) if _is_cast(value):
                # Numbers that are made wide again are not packed.
                assert isinstance(value, ast.Call)
                self.generic_visit(value)
                return node
        self.generic_visit(node)
        if not _is_cast(node):
            return node
        assert isinstance(node.func, ast.Attribute)
        operand = node.func.value
        known = self.values.known(operand)
        # The cast of a scalar, and of what `tl.full` repeats, is made once and its byte repeated.
        if known.is_distinct or not known.rank or _is_full(operand):
            return node
        self.is_used = True
        guarded = expr(GUARDED, cast=node, zero=name(self.zero), dtype=node.args[0])
        return ast.copy_location(guarded, node)


def _behind_program_ids(body: list[ast.stmt]) -> int:
    """Where the program ids end, which stand in front of everything that casts."""
    reads = ["tl.program_id" in ast.unparse(one) for one in body]
    at = reads.index(True)
    while at < len(body) and reads[at]:
        at += 1
    return at


def _is_cast(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="to"), args=[dtype], keywords=[]):
            return ast.unparse(dtype) in CASTS
    return False


def _is_full(tree: ast.expr) -> bool:
    return isinstance(tree, ast.Call) and ast.unparse(tree.func) in ("tl.full", "tl.zeros")
