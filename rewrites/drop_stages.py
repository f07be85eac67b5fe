"""Take away the dimension of a tile that counts stages, where each turn writes what it reads.

Buffers of several stages are written by hand so that copies run ahead. Triton's own pipeliner makes
such buffers; a stage that a turn of the loop fills before it reads it needs no others beside it.

before:
    def k(A: T.Tensor((128, 64), "float16"), C: T.Tensor((128, 64), "float16")):
        with T.Kernel(1, threads=128) as bx:
            tiles = T.alloc_shared((2, 32, 64), "float16")
            for k in T.serial(4):
                T.copy(A[k * 32, 0], tiles[k % 2, :, :])
                T.copy(tiles[k % 2, :, :], C[k * 32, 0])

after:
    def k(A: T.Tensor((128, 64), 'float16'), C: T.Tensor((128, 64), 'float16')):
        with T.Kernel(1, threads=128) as bx:
            tiles_stage = T.alloc_shared((32, 64), 'float16')
            for k in T.serial(4):
                T.copy(A[k * 32, 0], tiles_stage)
                T.copy(tiles_stage, C[k * 32, 0])
"""

import ast
from dataclasses import replace

from rewrites.changes import changed_names
from rewrites.environment import Names
from rewrites.facts import Facts, Tile
from rewrites.nodes import Blank, Comment
from rewrites.quote import copy_tree, place
from rewrites.tile_access import tile_access
from rewrites.tree import base_name, blocks_of, function_of, index_list, names_in, walk


def run(tree: ast.Module, facts: Facts) -> ast.Module:
    """Replace such tiles by tiles of one stage."""
    function = function_of(tree)
    viewed = {tile.storage for tile in facts.tiles.values() if tile.base}
    for tile in list(facts.tiles.values()):
        if (
            tile.rank < 3
            or tile.base
            or tile.name in viewed
            or not _is_staged(function, tile, facts)
        ):
            continue
        name = Names.of(tree, facts).fresh(f"{tile.name}_stage")
        facts.tiles[name] = replace(tile, name=name, shape=tile.shape[1:], trees=tile.trees[1:])
        changed = _OneStage(tile, name).visit(copy_tree(function))
        if _fills_first(function.body, changed.body, tile, name, facts):
            function.body = changed.body
        else:
            del facts.tiles[name]
    return tree


def _is_staged(function: ast.FunctionDef, tile: Tile, facts: Facts) -> bool:
    """Whether every access picks one stage, and some access one that varies."""
    subscripts = [n for n in walk(function) if isinstance(n, ast.Subscript)]
    accesses = [n for n in subscripts if _is_access(n, tile)]
    names = [
        n
        for n in walk(function)
        if isinstance(n, ast.Name) and n.id == tile.name and isinstance(n.ctx, ast.Load)
    ]
    varies = any(names_in(index_list(n)[0]) - facts.constants.keys() for n in accesses)
    return varies and len(names) == len(accesses)


def _is_access(node: ast.AST, tile: Tile) -> bool:
    return (
        isinstance(node, ast.Subscript)
        and base_name(node) == tile.name
        and not isinstance(index_list(node)[0], ast.Slice)
    )


def _fills_first(
    body: list[ast.stmt], changed: list[ast.stmt], tile: Tile, name: str, facts: Facts
) -> bool:
    """Whether in each block the first access to the tile fills the stage that all others use."""
    stage = None
    for statement, new in zip(body, changed, strict=True):
        if isinstance(statement, (Comment, Blank)) or tile.name not in names_in(statement):
            continue
        if stage is None:
            match statement:
                case ast.Assign(targets=[ast.Name(id=target)]) if target == tile.name:
                    continue
                case ast.With() | ast.If() | ast.While() | ast.For() if not _is_parallel(statement):
                    if any(tile.name in names_in(header) for header in _headers(statement)):
                        return False
                    blocks = zip(blocks_of(statement), blocks_of(new), strict=True)
                    if not all(_fills_first(a, b, tile, name, facts) for a, b in blocks):
                        return False
                    continue
            access = tile_access(new, facts)
            if name in access.needs or name not in access.fills:
                return False
        indices = [
            index_list(node)[0]
            for node in walk(statement)
            if isinstance(node, ast.Subscript) and _is_access(node, tile)
        ]
        stage = stage or indices[0]
        if any(ast.dump(index) != ast.dump(stage) for index in indices):
            return False
    if stage is None:
        return True
    return not _is_changed(stage, body, tile, facts)


def _headers(statement: ast.stmt) -> list[ast.expr]:
    """The expressions of a compound statement outside of its blocks."""
    return [part for part in ast.iter_child_nodes(statement) if isinstance(part, ast.expr)]


def _is_changed(stage: ast.expr, body: list[ast.stmt], tile: Tile, facts: Facts) -> bool:
    """Whether what the stage is made of changes behind the first access."""
    started = False
    for statement in body:
        started = started or tile.name in names_in(statement)
        if started and changed_names(statement, facts) & names_in(stage):
            return True
    return False


def _is_parallel(statement: ast.stmt) -> bool:
    match statement:
        case ast.For(iter=ast.Call(func=ast.Attribute(attr="Parallel" | "parallel"))):
            return True
    return False


class _OneStage(ast.NodeTransformer):
    """Puts the tile of one stage where a stage of the tile was."""

    def __init__(self, tile: Tile, name: str) -> None:
        self.tile = tile
        self.name = name

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        target = node.targets[0]
        if not (isinstance(target, ast.Name) and target.id == self.tile.name):
            self.generic_visit(node)
            return node
        assert isinstance(node.value, ast.Call)
        node.targets = [ast.Name(self.name, ast.Store())]
        node.value.args[0] = ast.Tuple([copy_tree(t) for t in self.tile.trees[1:]], ast.Load())
        return place(node, node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        if base_name(node) != self.tile.name:
            return node
        bare = ast.Name(self.name, ast.Load())
        rest = index_list(node)[1:]
        if all(isinstance(i, ast.Slice) and not (i.lower or i.upper) for i in rest):
            return place(bare, node)
        index = rest[0] if len(rest) == 1 else ast.Tuple(rest, ast.Load())
        return place(ast.Subscript(bare, index, node.ctx), node)
