"""End a T.Parallel loop where its guard does, where it would run over the end of a tile.

before:
    def half(A: T.Tensor((32, 64), "float32"), C: T.Tensor((16, 64), "float32")):
        with T.Kernel(1, threads=128) as bx:
            tile = T.alloc_shared((16, 64), "float32")
            for i, j in T.Parallel(32, 64):
                if i < 16:
                    tile[i, j] = A[i, j]
            T.copy(tile, C)

after:
    def half(A: T.Tensor((32, 64), 'float32'), C: T.Tensor((16, 64), 'float32')):
        with T.Kernel(1, threads=128) as bx:
            tile = T.alloc_shared((16, 64), 'float32')
            for i, j in T.Parallel(16, 64):
                tile[i, j] = A[i, j]
            T.copy(tile, C)
"""

import ast

from rewrites.environment import environment_of
from rewrites.facts import Facts
from rewrites.nodes import Blank, Comment
from rewrites.quote import copy_tree
from rewrites.tree import index_list, walk


def run(tree: ast.Module, facts: Facts) -> ast.Module:
    """Change such loops in place."""
    for node in walk(tree):
        match node:
            case ast.For(iter=ast.Call(func=ast.Attribute(attr="Parallel")) as header):
                _narrow(node, header, facts)
    return tree


def _narrow(loop: ast.For, header: ast.Call, facts: Facts) -> None:
    statements = [one for one in loop.body if not isinstance(one, (Comment, Blank))]
    if len(statements) != 1 or not isinstance(statements[0], ast.If) or statements[0].orelse:
        return
    guard = statements[0]
    targets = loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
    positions = {one.id: p for p, one in enumerate(targets) if isinstance(one, ast.Name)}
    known = environment_of(facts)
    conditions = _conditions(guard.test)
    left: list[ast.expr] = []
    for condition in conditions:
        match condition:
            case ast.Compare(left=ast.Name(id=variable), ops=[ast.Lt()], comparators=[limit]) if (
                variable in positions
            ):
                end = known.range(limit)
                shortest = _shortest(guard.body, variable, facts)
                whole = known.range(header.args[positions[variable]])
                if end.low == end.high and _is_cut(end.high, shortest, whole.low):
                    header.args[positions[variable]] = copy_tree(limit)
                    continue
        left.append(condition)
    if not left:
        at = loop.body.index(guard)
        loop.body[at : at + 1] = guard.body
    elif len(left) < len(conditions):
        guard.test = left[0] if len(left) == 1 else ast.BoolOp(ast.And(), left)


def _conditions(test: ast.expr) -> list[ast.expr]:
    match test:
        case ast.BoolOp(op=ast.And(), values=values):
            return values
    return [test]


def _is_cut(end: int | None, shortest: int | None, whole: int | None) -> bool:
    """Whether the guard ends inside of the tiles that the whole loop would leave."""
    if end is None or shortest is None or whole is None:
        return False
    return 0 < end <= shortest < whole


def _shortest(body: list[ast.stmt], variable: str, facts: Facts) -> int | None:
    """The shortest dimension of a tile that the bare variable indexes."""
    extents = [
        extent
        for node in walk(ast.Module(body, []))
        if isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id in facts.tiles
        for index, extent in zip(index_list(node), facts.tiles[node.value.id].shape, strict=True)
        if isinstance(index, ast.Name) and index.id == variable
    ]
    return min(extents, default=None)
