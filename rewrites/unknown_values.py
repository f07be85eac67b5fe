"""Values that no compiler works out, which keep apart what it would wrongly take for one."""

import ast

from rewrites.nodes import Comment
from rewrites.quote import stmts
from rewrites.tree import names_in

# 0, since programs are numbered below their number.
ZERO = "tl.program_id(0) // tl.num_programs(0)"


def put_first(kernel: ast.FunctionDef, remark: str, statement: str, name: ast.Name) -> None:
    """Put a statement with a remark where the program ids end, or where its name is used first."""
    body = kernel.body
    reads = ["tl.program_id" in ast.unparse(one) for one in body]
    at = reads.index(True) if True in reads else 0
    while at < len(body) and reads[at]:
        at += 1
    uses = [index for index, one in enumerate(body) if name.id in names_in(one)]
    at = min([at, *uses])
    body[at:at] = [Comment(remark), *stmts(statement, name=name)]
