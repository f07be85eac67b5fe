"""Let fewer programs than tiles run, each of which computes several tiles in turn.

What the programs of a grid do is not ordered among them, and so neither are the turns of the loop.
It may begin the loads of a tile while the tile before it is stored.

In Gluon for Hopper, producers and consumers go over the tiles of pairs of programs themselves.

before with programs=132:
    def k(A: T.Tensor((4096, 64), "float16"), C: T.Tensor((4096, 64), "float16")):
        with T.Kernel(2, 64, threads=128) as (bx, by):
            a = T.alloc_fragment((64, 32), "float16")
            T.copy(A[by * 64, bx * 32], a)
            T.copy(a, C[by * 64, bx * 32])

after:
    def k(A: T.Tensor((4096, 64), 'float16'), C: T.Tensor((4096, 64), 'float16')):
        with T.Kernel(T.min(2 * 64, 132), threads=128) as program:
            for tile in T.serial(program, 2 * 64, 132):
                bx = tile % 2
                by = tile // 2
                a = T.alloc_fragment((64, 32), 'float16')
                T.copy(A[by * 64, bx * 32], a)
                T.copy(a, C[by * 64, bx * 32])
"""

import ast

from rewrites.environment import Names
from rewrites.errors import refuse
from rewrites.facts import Facts, has_producer
from rewrites.quote import copy_tree, expr, literal, place
from rewrites.tile_numbers import number_of_tiles, refuse_negative, tile_indices
from rewrites.tree import function_of, names_in, operator_call, walk


def run(tree: ast.Module, facts: Facts) -> ast.Module:
    """Change the grids of a kernel with T.Kernel whose schedule asks for it."""
    count = facts.schedule.programs
    function = function_of(tree)
    if count is None:
        return tree
    names = Names.of(tree, facts)
    for block in function.body:
        if isinstance(block, ast.With) and not facts.program_loops & names_in(block):
            _require_free(block)
            if not has_producer(facts):
                _persist(block, count or facts.multiprocessors, names, facts)
    return tree


def _require_free(block: ast.With) -> None:
    for node in walk(block):
        if isinstance(node, ast.stmt) and operator_call(node, "sync_grid") is not None:
            raise refuse(
                node,
                "T2T877",
                "T.persistent shares tiles out to programs, which cannot wait for all others",
                (),
                "leave T.persistent out of the schedule of this kernel",
            )


def _persist(block: ast.With, programs: int, names: Names, facts: Facts) -> None:
    header = block.items[0].context_expr
    assert isinstance(header, ast.Call)
    extents = header.args
    program, tile = names.fresh("program"), names.fresh("tile")
    refuse_negative(extents, "T.persistent", facts)
    total, counted_total = number_of_tiles(extents, facts)
    indices, body = tile_indices(block, tile, counted_total is not total, names, facts)
    counted = expr(
        "T.serial(program, total, programs)",
        program=program,
        total=counted_total,
        programs=literal(programs),
    )
    loop = ast.For(ast.Name(tile, ast.Store()), counted, [*indices, *body], [])
    loop.type_comment = None
    header.args = [
        expr("T.min(total, programs)", total=copy_tree(total), programs=literal(programs))
    ]
    block.items[0].optional_vars = ast.Name(program, ast.Store())
    block.body = [place(loop, block)]
    place(block, block)
    facts.program_loops.add(tile)
