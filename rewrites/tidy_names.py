"""Drop what nothing reads, close gaps in numbered names, and settle blank lines.

before:
    def k(A, C):
        offs_m_1 = tl.arange(0, 64)
        offs_n = tl.arange(0, 32)
        tl.store(C + offs_m_1, 1.0)

after:
    def k(A, C):
        offs_m = tl.arange(0, 64)
        tl.store(C + offs_m, 1.0)
"""

import ast
import re

from rewrites.facts import Facts
from rewrites.nodes import Blank, Comment
from rewrites.tree import kernels_of, walk


def run(tree: ast.Module, facts: Facts) -> ast.Module:
    """Leave only names that are read, numbered without gaps."""
    for kernel in kernels_of(tree):
        while _drop_unread(kernel):
            pass
        _close_gaps(kernel)
        kernel.body = _settled(kernel.body)
    return tree


def _drop_unread(kernel: ast.FunctionDef) -> bool:
    """Drop assignments of offsets that nothing reads; True where some were dropped."""
    read = {
        node.id
        for node in walk(kernel)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }

    class Drop(ast.NodeTransformer):
        dropped = False

        def visit_Assign(self, node: ast.Assign) -> ast.Assign | None:
            match node.targets:
                case [ast.Name(id=target)] if target not in read and _is_generated(target):
                    self.dropped = True
                    return None
            return node

    drop = Drop()
    drop.visit(kernel)
    return drop.dropped


def _is_generated(target: str) -> bool:
    return target.startswith("offs_")


def _close_gaps(kernel: ast.FunctionDef) -> None:
    """Rename `offs_m_2` to `offs_m` or `offs_m_1` where these are free."""
    names = {node.id for node in walk(kernel) if isinstance(node, ast.Name)}
    names |= {argument.arg for argument in kernel.args.args}
    stored = [
        node.id
        for node in walk(kernel)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]
    renamed: dict[str, str] = {}
    for target in dict.fromkeys(stored):
        match = re.fullmatch(r"(offs_.+?)_(\d+)", target)
        if match is None:
            continue
        base = match.group(1)
        choices = [base, *(f"{base}_{n}" for n in range(1, int(match.group(2))))]
        free = next((choice for choice in choices if choice not in names), None)
        if free is not None:
            renamed[target] = free
            names.discard(target)
            names.add(free)
    for node in walk(kernel):
        if isinstance(node, ast.Name):
            node.id = renamed.get(node.id, node.id)


def _settled(body: list[ast.stmt]) -> list[ast.stmt]:
    """No blank line first, last or twice; a branch without statements passes."""
    result: list[ast.stmt] = []
    for statement in body:
        for field in ("body", "orelse"):
            block = getattr(statement, field, None)
            if isinstance(block, list) and block:
                setattr(statement, field, _settled(block))
        if isinstance(statement, Blank):
            # A blank line stands before the comments of the next statement.
            at = len(result)
            while at and isinstance(result[at - 1], Comment):
                at -= 1
            if at and not isinstance(result[at - 1], Blank):
                result.insert(at, statement)
            continue
        result.append(statement)
    while result and isinstance(result[-1], Blank):
        result.pop()
    if all(isinstance(statement, (Comment, Blank)) for statement in result):
        result.append(ast.Pass())
    real = [statement for statement in result if not isinstance(statement, ast.Pass)]
    if any(not isinstance(statement, (Comment, Blank)) for statement in real):
        return real
    return result
