"""Write the loops over a scanned axis, index by index: states in tiles, and what each index gives.

before: y[l, d] = h[l, d], where h[l, d] = a[l, d] h[l - 1, d] + b[l, d]

after:
    h = T.alloc_fragment((block_D,), "float32")
    T.clear(h)
    for l in T.serial(L):
        for i in T.Parallel(block_D):
            h[i] = a_local[i] * h[i] + b_local[i]
        T.copy(h, y[l, bx * block_D:bx * block_D + block_D])
"""

import ast
from collections.abc import Callable

from rewrites.operands.body import Body, Held, subscript
from rewrites.operands.chunks import Chunks
from rewrites.operands.places import Output
from rewrites.operands.running import combining, identity_of
from rewrites.operands.scans import STARTS
from rewrites.operands.terms import Axis, Term, how_reduced, how_scanned, reduced_axis, subterms
from rewrites.operands.tiles import Tiles
from rewrites.quote import literal, name, place

_COMBINED = {"sum": "a + b", "prod": "a * b", "max": "T.max(a, b)", "min": "T.min(a, b)"}


def step(tiles: Tiles, axis: Axis, body: Body, outputs: list[Output]) -> None:
    """Compute every reduction over the axis, and store what has it, in as few loops as will do."""
    found = subterms(*(output.term for output in tiles.plan.outputs))
    levels: dict[Term, int] = {}
    for term in found:
        if reduced_axis(term) == axis:
            levels[term] = _level(term, levels)
    stored = [_level(output.term, levels) for output in outputs]
    for level in range(1 + max([*levels.values(), *stored])):
        reductions = [term for term, own in levels.items() if own == level]
        ready = [one for one, own in zip(outputs, stored, strict=True) if own == level]
        is_by_index = tiles.plan.places[axis].role == "step"
        loop = _Loop(tiles, axis, body) if is_by_index else Chunks(tiles, axis, body)
        loop.write(reductions, ready)


def _level(term: Term, levels: dict[Term, int]) -> int:
    """The first loop in which all reductions are known that a term is made of."""
    return max((levels[one] + 1 for one in subterms(*term.operands) if one in levels), default=0)


class _Loop:
    def __init__(self, tiles: Tiles, axis: Axis, body: Body) -> None:
        self.tiles = tiles
        self.writer = tiles.writer
        self.axis = axis
        self.body = body
        self.counter = self.writer.names.fresh("t")
        self.inside = Body(body, starts={axis: name(self.counter)})

    def write(self, reductions: list[Term], outputs: list[Output]) -> None:
        self.inside.scan = self.scan
        for term in reductions:
            self._reduce(term)
        for output in outputs:
            self.writer.node = output.node
            self.tiles.store(output, self.inside)
        header = self.writer.tree("T.serial(size)", size=self.axis.size.tree)
        stages = self.tiles.plan.stages_along(self.axis)
        if stages > 1:
            given = {"size": self.axis.size.tree, "stages": literal(stages)}
            header = self.writer.tree("T.Pipelined(size, num_stages=stages)", **given)
        self.writer.loop(self.body, self.counter, header, self.inside)

    def scan(self, term: Term) -> Held:
        """The state of a scan after this index, brought up to date here."""
        how, _ = how_scanned(term)
        for operand in term.operands:
            self.tiles.prepare(operand, self.inside)
        if how == "linear":
            a, b, start = term.operands
            state = self._state(term, start)
            return self._update(
                state,
                lambda lanes: self.writer.tree(
                    "a * h + b",
                    a=self.tiles.element(a, self.inside, lanes),
                    h=state.element(lanes),
                    b=self.tiles.element(b, self.inside, lanes),
                ),
            )
        (operand,) = term.operands
        state = self._state(term, self.tiles.terms.number(STARTS[how]))
        template = _COMBINED[how]
        return self._update(state, lambda lanes: self._combined(template, state, operand, lanes))

    def _reduce(self, term: Term) -> None:
        """Bring a reduction over the axis up to date at each index."""
        how, _ = how_reduced(term)
        (operand,) = term.operands
        if how == "last":
            # The state holds it behind the loop.
            self.body.known[term] = self.tiles.held(operand, self.inside)
            return
        self.tiles.prepare(operand, self.inside)
        state = self._state(term, self.tiles.terms.number(identity_of(term)))
        self._update(state, lambda lanes: self._combined(combining(term), state, operand, lanes))
        self.body.known[term] = state

    def _combined(
        self, template: str, state: Held, operand: Term, lanes: dict[Axis, str]
    ) -> ast.expr:
        element = self.tiles.element(operand, self.inside, lanes)
        return self.writer.tree(template, a=state.element(lanes), b=element)

    def _state(self, term: Term, start: Term) -> Held:
        """A tile, with the first value that it has before the loop."""
        axes = tuple(self.tiles.plan.lanes(term.axes))
        if start.kind != "number":
            self.tiles.prepare(start, self.body)
        wanted = term.name or "state"
        tile = self.tiles.tile(self.body, wanted, axes, term.dtype)
        state = Held(tile, axes, is_cell=not axes)
        if start.kind == "number" and start.detail == 0:
            self.writer.put(self.body, "T.clear(tile)", tile=tile)
        elif start.kind == "number":
            value = self.tiles.element(start, self.body, {})
            self.writer.put(self.body, "T.fill(tile, value)", tile=tile, value=value)
        else:
            self._set(self.body, state, lambda lanes: self.tiles.element(start, self.body, lanes))
        return state

    def _update(self, state: Held, made: Callable[[dict[Axis, str]], ast.expr]) -> Held:
        self._set(self.inside, state, made)
        return state

    def _set(self, body: Body, state: Held, made: Callable[[dict[Axis, str]], ast.expr]) -> None:
        if state.axes:
            self.tiles.fill(body, state.name, state.axes, made)
            return
        target = subscript(state.name, [literal(0)])
        target.ctx = ast.Store()
        statement = ast.Assign([target], made({}))
        statement.type_comment = None
        body.statements.append(place(statement, self.writer.node))
