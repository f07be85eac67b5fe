"""What the producer does: fill the slots of all rings, as consumers free them."""

import ast

from rewrites.gluon.errors import UnsuitedError
from rewrites.gluon.parts import Parts
from rewrites.gluon.ranges import Chain
from rewrites.gluon.rings import loads_of
from rewrites.gluon.sites import Sites
from rewrites.quote import expr, name, place, stmts, substituted
from rewrites.tree import names_in


def produced(parts: Parts, sites: Sites, chain: Chain) -> list[ast.stmt]:
    """The body of the producer's function: one loop over the turns of all loops of the chain."""
    first = chain.loops[0]
    assert isinstance(first.target, ast.Name)
    loads = loads_of(first.body)
    for loop in chain.loops[1:]:
        others = loads_of(loop.body)
        renamed = [substituted_key(load.coordinates, loop, first.target.id) for load in others]
        own = [tuple(map(ast.unparse, load.coordinates)) for load in loads]
        if [load.name for load in others] != [load.name for load in loads] or renamed != own:
            raise UnsuitedError("its loops load other tiles than the first one")
    turn = parts.names.fresh("turn")
    body: list[ast.stmt] = []
    dependent: set[str] = set()
    for load in loads:
        ring = parts.rings[load.name]
        if ring.is_shared:
            body += sites.filled(ring, turn, 0)
            continue
        for part in range(parts.consumers):
            filled = sites.filled(ring, turn, part)
            renames = chain.names_of(part)
            dependent |= names_in(ast.Tuple(list(load.coordinates), ast.Load())) & parts.dependent
            body += [substituted(one, renames) for one in filled]
    body += stmts("turn += 1", turn=turn)
    needed = {one for load in loads for tree in load.coordinates for one in names_in(tree)}
    needed -= {first.target.id}
    start, stop = chain.first, chain.last
    made = chain.statements(needed, dependent)
    made += stmts("turn = 0", turn=turn)
    header = expr("range(start, stop)", start=start, stop=stop)
    loop = ast.For(name(first.target.id), header, body, [])
    return [*made, place(loop, first)]


def substituted_key(
    coordinates: tuple[ast.expr, ...], loop: ast.For, variable: str
) -> tuple[str, ...]:
    assert isinstance(loop.target, ast.Name)
    own = {loop.target.id: name(variable)}
    return tuple(ast.unparse(substituted(one, own)) for one in coordinates)
