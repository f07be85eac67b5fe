"""On AMD, keep a tile apart from its transpose where a loop or a branch may change both.

Triton 3.6.0 lowers `tl.trans` for AMD GPUs to another name of the same registers. Where a tile and
its transpose then stand side by side among what a loop or a branch carries, it leaves a conversion
from one to the other that has no meaning, and the kernel does not compile ("LLVM Translation failed
for operation: builtin.unrealized_conversion_cast"). The transpose of a selection is no such name;
what it selects by is not known to the compiler, which would take the selection away again.

before for hip:gfx942:
    def k(A, C):
        bx = tl.program_id(0)
        t = tl.load(A)
        u = tl.trans(t)
        for i in range(4):
            t = t + 1
            u = u * 2

after:
    def k(A, C):
        bx = tl.program_id(0)
        always = tl.program_id(0) // tl.num_programs(0) == 0
        t = tl.load(A)
        u = tl.trans(tl.where(always, t, tl.zeros_like(t)))
        for i in range(4):
            t = t + 1
            u = u * 2
"""

import ast
from collections import Counter
from collections.abc import Iterator

from rewrites.environment import Names
from rewrites.facts import Facts
from rewrites.quote import expr, name
from rewrites.tree import kernels_of, walk
from rewrites.unknown_values import ZERO, put_first

TRANSPOSES = ("tl.trans", "tl.permute")
SELECTED = "tl.where(always, tile, tl.zeros_like(tile))"
REMARK = (
    "With it Triton 3.6 compiles a tile and its transpose that both change in a loop or branch."
)


def run(tree: ast.Module, facts: Facts) -> ast.Module:
    """Let what is transposed be a selection where it and the transpose are assigned elsewhere."""
    if facts.target.startswith("hip"):
        for kernel in kernels_of(tree):
            _keep_apart(kernel, facts)
    return tree


def _keep_apart(kernel: ast.FunctionDef, facts: Facts) -> None:
    found = list(_transposes(kernel))
    if found:
        always = name(Names.of(kernel, facts).fresh("always"))
        for call in found:
            call.args[0] = expr(SELECTED, always=always, tile=call.args[0])
        put_first(kernel, REMARK, f"name = {ZERO} == 0", always)


def _transposes(kernel: ast.FunctionDef) -> Iterator[ast.Call]:
    """The transposes of tiles that are given a name; both names get other values, too."""
    nodes = walk(kernel)
    stored = (node.id for node in nodes if isinstance(node, ast.Name) and _is_stored(node))
    counts = Counter(stored)
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=made)], value=ast.Call() as call):
                if ast.unparse(call.func) in TRANSPOSES and isinstance(call.args[0], ast.Name):
                    if counts[made] > 1 and counts[call.args[0].id] > 1:
                        yield call


def _is_stored(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)
