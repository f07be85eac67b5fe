"""What the producer does: fill the slots of all rings, as consumers free them."""

import ast

from rewrites.gluon.errors import UnsuitedError
from rewrites.gluon.parts import Parts
from rewrites.gluon.ranges import Chain
from rewrites.gluon.rings import Load, leading_to, load_of, loads_of
from rewrites.gluon.sites import Sites
from rewrites.quote import expr, name, place, stmts, substituted
from rewrites.tree import names_in


def produced(parts: Parts, sites: Sites, chain: Chain) -> list[ast.stmt]:
    """The body of the producer's function: one loop over the turns of all loops of the chain."""
    first = chain.loops[0]
    assert isinstance(first.target, ast.Name)
    loads = loads_of(first.body)
    wanted = [ast.unparse(one) for one in _filling(first, first.target.id)]
    for loop in chain.loops[1:]:
        if [ast.unparse(one) for one in _filling(loop, first.target.id)] != wanted:
            raise UnsuitedError("its loops load other tiles than the first one")
    read = _places(loads)
    places = leading_to(first.body, read)
    _require_own(first, places, loads)
    turn = sites.loaded = parts.names.fresh("turn")
    body: list[ast.stmt] = []
    dependent: set[str] = set()
    for place_of in places:
        dependent |= names_in(place_of.value) & parts.dependent
        body += chain.copies(place_of)
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
    set_here = {one for place_of in places for one in names_in(place_of.targets[0])}
    needed = read.union(*(names_in(one.value) for one in places)) - set_here - {first.target.id}
    start, stop = chain.first, chain.last
    made = chain.statements(needed, dependent)
    made += stmts("turn = 0", turn=turn)
    header = expr("range(start, stop)", start=start, stop=stop)
    if ast.unparse(start) == "0":
        header = expr("range(stop)", stop=stop)
    loop = ast.For(name(first.target.id), header, body, [])
    return [*made, place(loop, first)]


def _places(loads: list[Load]) -> set[str]:
    """The names in the places of loads."""
    return {one for load in loads for tree in load.coordinates for one in names_in(tree)}


def _filling(loop: ast.For, variable: str) -> list[ast.stmt]:
    """What a turn of a loop over `variable` loads, and what says from where."""
    assert isinstance(loop.target, ast.Name)
    loads = [one for one in loop.body if load_of(one) is not None]
    own = {loop.target.id: name(variable)}
    leading = leading_to(loop.body, _places(loads_of(loop.body)))
    return [substituted(one, own) for one in (*leading, *loads)]


def _require_own(loop: ast.For, places: list[ast.Assign], loads: list[Load]) -> None:
    """Let each turn set what says from where it loads, once and before anything reads it."""
    kept = {one for place_of in places for one in names_in(place_of.targets[0])}
    for statement in loop.body:
        load = load_of(statement)
        match statement:
            case ast.Assign(targets=[target], value=value):
                early = kept & (_places([load]) if load else names_in(value))
                if early and (load in loads or statement in places):
                    raise UnsuitedError(f"`{min(early)}` goes from turn to turn")
                if statement in places:
                    kept -= names_in(target)
                elif names_in(target) & _places(loads):
                    raise UnsuitedError(f"`{ast.unparse(target)}` is set more than once")
