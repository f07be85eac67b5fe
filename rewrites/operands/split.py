"""Share an axis that a loop sums over out to several programs, and combine what they found.

The first kernel keeps the accumulators of its part in workspaces; the second one merges them, the
maxima first, and stores the outputs. What was summed under a part's maximum w is multiplied by
exp2(w - v), where v is the maximum of all parts.
"""

import ast

from rewrites.errors import refuse
from rewrites.facts import Tensor
from rewrites.operands.body import Body, Held, subscript
from rewrites.operands.grid import Grid
from rewrites.operands.merging import Merging
from rewrites.operands.running import POWERS
from rewrites.operands.streams import store_outputs, stream
from rewrites.operands.terms import Axis, Term, subterms
from rewrites.operands.tiles import Tiles
from rewrites.quote import literal, name, place


def split_kernels(tiles: Tiles) -> list[ast.With]:
    """The two launches of a program with a split axis."""
    plan, writer = tiles.plan, tiles.writer
    ((axis, parts),) = plan.splits.items()
    running = plan.loops[axis]
    bases = {one.base for one in running if one.base is not None}
    followed = [one.term for base in bases for one in running if one.term in subterms(base)]
    is_simple = len(followed) == len(set(followed)) and all(
        one.rule in ("", *POWERS) for one in running
    )
    if any(one.level for one in running) or len(plan.loops) > 1 or not is_simple:
        raise refuse(
            writer.node,
            "T2T878",
            f"`{axis.size.name}` cannot be split: what is summed over it is needed for another "
            "sum over it",
            (),
            "leave T.split out",
        )
    count = writer.number("parts", parts)
    grid = Grid(plan, writer, parts=count)
    outer = Body()
    body = grid.open(outer)
    assert grid.part is not None
    body.parts[axis] = (grid.part, count)
    stream(tiles, axis, body)
    for one in running:
        _workspace(tiles, one.term, body.known[one.term], count)
        _keep(tiles, body, one.term, grid.part)
    first = grid.closed(outer)
    grid = Grid(plan, writer)
    outer = Body()
    body = grid.open(outer)
    _merge(tiles, axis, body, count)
    store_outputs(tiles, body)
    return [first, grid.closed(outer)]


def _workspace(tiles: Tiles, term: Term, held: Held, count: ast.expr) -> str:
    """A tensor for the accumulators of all parts, by the term that they are of."""
    writer = tiles.writer
    made = writer.names.fresh(f"{held.name.removesuffix('_value')}_parts")
    shape = (count, *(axis.size.tree for axis in _axes(tiles, term, held)))
    writer.facts.tensors[made] = Tensor(made, shape, term.dtype, "workspace")
    tiles.workspaces[term] = made
    return made


def _axes(tiles: Tiles, term: Term, held: Held) -> list[Axis]:
    """The dimensions of a workspace behind the part: those of the grid, then the tile's."""
    outer = [axis for axis in tiles.plan.places if axis in term.axes and axis not in held.axes]
    return [*outer, *held.axes]


def _region(tiles: Tiles, body: Body, term: Term, held: Held, part: ast.expr) -> ast.Subscript:
    indices = tuple(map(tiles.terms.position, _axes(tiles, term, held)))
    region = tiles.region(tiles.workspaces[term], indices, body, [part])
    assert isinstance(region, ast.Subscript)
    return region


def _keep(tiles: Tiles, body: Body, term: Term, part: ast.expr) -> None:
    """Copy an accumulator to its workspace."""
    held = body.known[term]
    region = _region(tiles, body, term, held, part)
    if held.axes:
        tiles.writer.put(body, "T.copy(tile, region)", region=region, tile=held.name)
    else:
        _assign(tiles, body, region, held.element({}))


def _fetch(tiles: Tiles, body: Body, term: Term, held: Held, part: ast.expr) -> None:
    """Copy a part of a workspace to a tile."""
    region = _region(tiles, body, term, held, part)
    if held.axes:
        tiles.writer.put(body, "T.copy(region, tile)", region=region, tile=held.name)
    else:
        _assign(tiles, body, subscript(held.name, [literal(0)]), region)


def _assign(tiles: Tiles, body: Body, target: ast.Subscript, value: ast.expr) -> None:
    target.ctx = ast.Store()
    statement = ast.Assign([target], value)
    statement.type_comment = None
    body.statements.append(place(statement, tiles.writer.node))


def _merge(tiles: Tiles, axis: Axis, body: Body, count: ast.expr) -> None:
    """Combine the accumulators of all parts."""
    writer = tiles.writer
    merging = Merging(tiles, axis, body)
    merging.start()
    part = writer.names.fresh("part")
    inside = Body(body, running={one.term for one in merging.running})
    loaded: dict[Term, Held] = {}
    for one in merging.running:
        held = merging.held[one.term]
        tile = tiles.tile(inside, f"{held.name}_part", held.axes, one.term.dtype)
        loaded[one.term] = Held(tile, held.axes, held.is_cell)
        _fetch(tiles, inside, one.term, loaded[one.term], name(part))
    merging.add(loaded, inside)
    writer.loop(body, part, writer.tree("T.serial(n)", n=count), inside)
    merging.end()
