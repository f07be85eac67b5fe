"""Let a product end in its turn of a loop, where its first factor is made in registers.

Hopper's wgmma reads a first factor that is computed from registers while the program goes on. In a
loop Triton may wait for all but the last few instructions of a product, and the next turn may write
these registers anew while they are still read (`known_miscompiles.py`). Triton waits for a product
whose sum a branch may change, so there is a branch that is never taken.

Factors that are loaded stay in shared memory, and those that come from another product of the same
turn are made behind a wait for it.

before:
    def k(A, B, C):
        bx = tl.program_id(0)
        c = tl.zeros((64, 64), tl.float32)
        for k in tl.range(8, num_stages=2):
            a = tl.load(A)
            b = tl.load(B)
            twice = a * 2
            c = tl.dot(twice, b, c)
        tl.store(C, c)

after:
    def k(A, B, C):
        bx = tl.program_id(0)
        never = tl.program_id(0) // tl.num_programs(0) == 1
        c = tl.zeros((64, 64), tl.float32)
        for k in tl.range(8, num_stages=2):
            a = tl.load(A)
            b = tl.load(B)
            twice = a * 2
            c = tl.dot(twice, b, c)
            if never:
                c = tl.zeros_like(c)
        tl.store(C, c)
"""

import ast

from rewrites.environment import Names
from rewrites.facts import Facts, is_specialized
from rewrites.nodes import Comment
from rewrites.quote import name, place, stmts
from rewrites.tree import blocks_of, kernels_of, names_in, walk
from rewrites.unknown_values import ZERO, put_first

REMARK = "False, which compilers do not know."
WHY = "So Triton waits here: else the next turn could change `{factor}` while it is still read."
# What gives another view of the same elements.
VIEWS = ("trans", "permute", "reshape", "view")


def run(tree: ast.Module, facts: Facts) -> ast.Module:
    """Put the branch behind each such product, on the targets that have wgmma."""
    if facts.target != "cuda:90" or is_specialized(facts):
        return tree
    for kernel in kernels_of(tree):
        never = name(Names.of(kernel, facts).fresh("never"))
        if _finish(kernel.body, never):
            put_first(kernel, REMARK, f"name = {ZERO} == 1", never)
    return tree


def _finish(body: list[ast.stmt], never: ast.Name, is_loop: bool = False) -> bool:
    """Whether a loop in these statements, or they as the body of one, have got a branch."""
    result: list[ast.stmt] = []
    found = False
    for at, statement in enumerate(body):
        for block in blocks_of(statement):
            found |= _finish(block, never, isinstance(statement, (ast.For, ast.While)))
        result.append(statement)
        factor = _unfinished(body, at) if is_loop else None
        if factor is None:
            continue
        assert isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
        (branch,) = stmts(
            "if never:\n    total = tl.zeros_like(total)",
            never=never.id,
            total=statement.targets[0].id,
        )
        result += [Comment(WHY.format(factor=factor)), place(branch, statement)]
        found = True
    body[:] = result
    return found


def _unfinished(body: list[ast.stmt], at: int) -> str | None:
    """The first factor of a product, if it is computed and nothing in the turn uses the product."""
    match body[at]:
        case ast.Assign(targets=[ast.Name(id=total)], value=value):
            dots = [node for node in walk(value) if isinstance(node, ast.Call) and _is_dot(node)]
        case _:
            return None
    if len(dots) != 1 or any(_changes(later, total) for later in body[at + 1 :]):
        return None
    first = _viewed(dots[0].args[0])
    if _is_computed(first, body, at):
        return ast.unparse(first) if isinstance(first, ast.Name) else "its factor"
    return None


def _changes(statement: ast.stmt, total: str) -> bool:
    """Whether a statement computes a sum anew from itself, which waits for it.

    Other uses may be of nothing, and Triton drops them.
    """
    match statement:
        case ast.Assign(targets=[ast.Name(id=target)], value=value):
            is_product = any(_is_dot(node) for node in walk(value))
            return target == total and total in names_in(value) and not is_product
    return False


def _is_dot(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "tl.dot"


def _viewed(tree: ast.expr) -> ast.expr:
    """What a view of it is a view of."""
    match tree:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="tl"), attr=attr), args=[inner, *_]):
            return _viewed(inner) if attr in VIEWS else tree
        case ast.Call(func=ast.Attribute(value=inner, attr=attr)):
            return _viewed(inner) if attr in VIEWS else tree
        case ast.Attribute(value=inner, attr="T"):
            return _viewed(inner)
    return tree


def _is_computed(tree: ast.expr, body: list[ast.stmt], at: int) -> bool:
    """Whether a value is made in the loop, neither loaded nor of a product in the same turn.

    It is read in the statement `at`; what that turn has not set yet is left from the one before.
    """
    tree = _viewed(tree)
    if isinstance(tree, ast.Name):
        order = [*range(at - 1, -1, -1), *range(len(body) - 1, at - 1, -1)]
        for index in order:
            match body[index]:
                case ast.Assign(targets=[ast.Name(id=made)], value=value) if made == tree.id:
                    if index < at:
                        return _is_computed(value, body, index)
                    return not _is_load(_viewed(value))
                case ast.stmt() as other if tree.id in _stored(other):
                    return True
        return False
    return not _is_load(tree) and not _follows_product(tree, body[:at])


def _is_load(tree: ast.expr) -> bool:
    return isinstance(tree, ast.Call) and (
        isinstance(tree.func, ast.Attribute) and tree.func.attr == "load"
    )


def _follows_product(tree: ast.AST, before: list[ast.stmt]) -> bool:
    """Whether a value needs a product that is made before it in the same turn."""
    needed = names_in(tree)
    if any(_is_dot(node) for node in walk(tree)):
        return True
    for statement in reversed(before):
        match statement:
            case ast.Assign(targets=[ast.Name(id=made)], value=value) if made in needed:
                if any(_is_dot(node) for node in walk(value)):
                    return True
                needed = needed - {made} | names_in(value)
    return False


def _stored(statement: ast.stmt) -> set[str]:
    return {
        node.id
        for node in walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
