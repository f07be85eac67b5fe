"""Make fp8 numbers where ptxas does not lose them (`known_miscompiles.py`).

A cast makes fp8 numbers two by two. Where such a pair is packed beside another one and used once
more, ptxas 12.8 and 12.9 read what was beside it, or a register that nothing wrote, in the other
place. So a function makes four numbers at once, each pair for one use alone, and combines them
with a zero that no compiler knows, so that none sees where the four come from.

Casts of numbers that are made wide again are not packed.

before:
    def k(A, C):
        bx = tl.program_id(0)
        x = tl.load(A + tl.arange(0, 64))
        tl.store(C + tl.arange(0, 64), (x * 2).to(tl.float8e5))

after:
    def k(A, C):
        bx = tl.program_id(0)
        zero = tl.program_id(0) // tl.num_programs(0)
        x = tl.load(A + tl.arange(0, 64))
        tl.store(C + tl.arange(0, 64), _float8e5(x * 2, zero))
"""

import ast

from rewrites.environment import Names
from rewrites.facts import Facts
from rewrites.quote import name
from rewrites.tree import kernels_of
from rewrites.unknown_values import ZERO, put_first

# The functions that stand for casts, from float32.
FUNCTIONS = {"tl.float8e5": "_float8e5", "tl.float8e4nv": "_float8e4nv"}
REMARK = "A zero that compilers do not know."


def run(tree: ast.Module, facts: Facts) -> ast.Module:
    """Call a function in place of the casts to fp8, for GPUs that have an instruction for them."""
    vendor, _, version = facts.target.partition(":")
    if vendor != "cuda" or int(version) < 89:
        return tree
    for kernel in kernels_of(tree):
        guard = _Guard(Names.of(kernel, facts).fresh("zero"))
        guard.visit(kernel)
        if guard.is_used:
            put_first(kernel, REMARK, f"name = {ZERO}", name(guard.zero))
    return tree


class _Guard(ast.NodeTransformer):
    def __init__(self, zero: str) -> None:
        self.zero = zero
        self.is_used = False

    def visit_Call(self, node: ast.Call) -> ast.expr:
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Call() as cast, attr="to")) if _dtype(cast):
                self.generic_visit(cast)
                return node
        self.generic_visit(node)
        dtype = _dtype(node)
        if dtype is None:
            return node
        assert isinstance(node.func, ast.Attribute)
        self.is_used = True
        call = ast.Call(name(FUNCTIONS[dtype]), [node.func.value, name(self.zero)], [])
        return ast.copy_location(call, node)


def _dtype(node: ast.Call) -> str | None:
    """The fp8 type that is cast to."""
    match node:
        case ast.Call(func=ast.Attribute(attr="to"), args=[dtype], keywords=[]):
            written = ast.unparse(dtype)
            return written if written in FUNCTIONS else None
    return None
