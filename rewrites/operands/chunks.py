"""Write the loops over a scanned axis, tile by tile: scans of tiles, and a state between them.

before: y[m, l] = h[m, l], where h[m, l] = a[m, l] h[m, l - 1] + b[m, l]

after:
    h_state = T.alloc_fragment((block_M,), "float32")
    T.clear(h_state)
    for k in T.Pipelined(T.ceildiv(L, block_L), num_stages=2):
        ...
        T.linear_scan(factor, added, h, start=h_state, dim=1)
        for i in T.Parallel(block_M):
            h_state[i] = h[i, block_L - 1]
        T.copy(h, y[bx * block_M:bx * block_M + block_M, k * block_L:k * block_L + block_L])
"""

import ast

from rewrites.operands.body import Body, Held, subscript
from rewrites.operands.called import called
from rewrites.operands.guards import guarded
from rewrites.operands.places import Output
from rewrites.operands.running import identity_of
from rewrites.operands.scans import STARTS
from rewrites.operands.terms import Axis, Term, how_reduced, how_scanned
from rewrites.operands.tiles import Tiles
from rewrites.quote import literal, name, place

# What is taken with the state before a tile, for scans that have no state of their own.
_JOINED = {"sum": "a + b", "max": "T.max(a, b)", "min": "T.min(a, b)"}


class Chunks:
    """One loop over an axis, tile by tile."""

    def __init__(self, tiles: Tiles, axis: Axis, body: Body) -> None:
        self.tiles = tiles
        self.writer = tiles.writer
        self.axis = axis
        self.body = body
        self.block = self.writer.constant(tiles.plan.places[axis].block)
        self.counter = self.writer.names.fresh("k")
        start = self.writer.tree("k * block", k=name(self.counter), block=self.block)
        self.inside = Body(body, starts={axis: start})
        self.inside.scan = self.scan
        size = tiles.plan.places[axis].block.value
        self.is_even = axis.size.value % size == 0 and axis.size.name not in tiles.writer.facts.dims
        if self.is_even:
            known = {"size": axis.size.tree, "block": self.block}
            self.writer.decide("size % block == 0", **known)

    def write(self, reductions: list[Term], outputs: list[Output]) -> None:
        for term in reductions:
            self._reduce(term)
        for output in outputs:
            self.writer.node = output.node
            self.tiles.store(output, self.inside)
        header = self.writer.tree(
            "T.Pipelined(T.ceildiv(size, block), num_stages=stages)",
            size=self.axis.size.tree,
            block=self.block,
            stages=literal(self.tiles.plan.stages_along(self.axis)),
        )
        self.writer.loop(self.body, self.counter, header, self.inside)

    def scan(self, term: Term) -> Held:
        """A tile of a scan, made of what the state is before it."""
        how, _ = how_scanned(term)
        axes = tuple(self.tiles.plan.lanes(term.axes))
        dim = literal(axes.index(self.axis))
        start = term.operands[2] if how == "linear" else self.tiles.terms.number(STARTS[how])
        state = self._state(term, start, axes)
        if how in ("linear", "prod"):
            first, second = self._linear(term)
            factor = self._tile(first, axes, "factor", 1.0)
            added = self._tile(second, axes, "added", 0.0)
            made = self.tiles.new_tile(self.inside, term, axes)
            trees = {"a": factor, "b": added, "c": made, "d": state.name}
            template = "T.linear_scan(a, b, c, start=d, dim=at)"
            self.writer.put(self.inside, template, **trees, at=dim)
        else:
            made = self._combined(how, term, state, axes)
        held = Held(made, axes)
        self._keep_last(held, state)
        self.inside.known[term] = held
        self.body.known.setdefault(self._state_of(term), state)
        return held

    def _linear(self, term: Term) -> tuple[Term, Term]:
        """The factors and what is added; products add nothing."""
        if len(term.operands) > 1:
            return term.operands[0], term.operands[1]
        return term.operands[0], self.tiles.terms.number(0.0)

    def _combined(self, how: str, term: Term, state: Held, axes: tuple[Axis, ...]) -> str:
        """A scan of a tile by itself, then of the state with each of its elements."""
        operand = term.operands[0]
        identity = STARTS[how]
        if how == "min":
            # The smallest is the largest of what is negated.
            operand = self.tiles.terms.apply("-x", (operand,), operand.dtype)
            identity = -identity
        source = self._tile(operand, axes, "scanned", identity)
        own = "max" if how == "min" else how
        made = self.tiles.new_tile(self.inside, term, axes)
        call = f"T.cum{own}(a, b, dim=at)"
        at = literal(axes.index(self.axis))
        self.writer.put(self.inside, call, a=source, b=made, at=at)
        target = Held(made, axes)

        def joined(lanes: dict[Axis, str]) -> ast.expr:
            element = target.element(lanes)
            if how == "min":
                element = ast.UnaryOp(ast.USub(), element)
            return self.writer.tree(_JOINED[how], a=state.element(lanes), b=element)

        self.tiles.fill(self.inside, made, axes, joined)
        return made

    def _tile(self, operand: Term, axes: tuple[Axis, ...], wanted: str, identity: float) -> str:
        """A tile of an operand that has all axes, and changes nothing behind the end."""
        if not self.is_even:
            operand = guarded(self.tiles.terms, operand, self.axis, identity)
        if self.tiles.is_kept(operand):
            held = self.tiles.held(operand, self.inside)
            if held.axes == axes:
                return held.name
        self.tiles.prepare(operand, self.inside)
        tile = self.tiles.tile(self.inside, wanted, axes, operand.dtype)
        inside = self.inside
        self.tiles.fill(inside, tile, axes, lambda ls: self.tiles.element(operand, inside, ls))
        return tile

    def _state(self, term: Term, start: Term, axes: tuple[Axis, ...]) -> Held:
        """What a scan has come to before a tile; it starts before the loop."""
        rest = tuple(axis for axis in axes if axis != self.axis)
        wanted = f"{term.name}_state" if term.name else "state"
        if start.kind != "number":
            self.tiles.prepare(start, self.body)
        state = Held(self.tiles.tile(self.body, wanted, rest, term.dtype), rest, not rest)
        self._begin(state, start)
        return state

    def _begin(self, state: Held, start: Term) -> None:
        if start.kind == "number" and start.detail == 0:
            self.writer.put(self.body, "T.clear(tile)", tile=state.name)
        elif start.kind == "number" or not state.axes:
            value = self.tiles.element(start, self.body, {})
            self.writer.put(self.body, "T.fill(tile, value)", tile=state.name, value=value)
        else:
            body = self.body
            self.tiles.fill(
                body, state.name, state.axes, lambda ls: self.tiles.element(start, body, ls)
            )

    def _keep_last(self, held: Held, state: Held) -> None:
        last = self.writer.tree("block - 1", block=self.block)

        def element(lanes: dict[Axis, str]) -> ast.expr:
            own = [last if one == self.axis else name(lanes[one]) for one in held.axes]
            return subscript(held.name, own)

        if state.axes:
            self.tiles.fill(self.inside, state.name, state.axes, element)
            return
        target = subscript(state.name, [literal(0)])
        target.ctx = ast.Store()
        statement = ast.Assign([target], element({}))
        statement.type_comment = None
        self.inside.statements.append(place(statement, self.writer.node))

    def _state_of(self, term: Term) -> Term:
        """The term that the state is: the last value of a scan."""
        return self.tiles.terms.reduce("last", self.axis, term, term.dtype)

    def _reduce(self, term: Term) -> None:
        """Bring a reduction over the axis up to date with each tile."""
        how, _ = how_reduced(term)
        (operand,) = term.operands
        if how == "last":
            self.tiles.held(operand, self.inside)
            return
        axes = tuple(self.tiles.plan.lanes(term.axes))
        tile = self.tiles.tile(self.body, called(term), axes, term.dtype)
        state = Held(tile, axes, is_cell=not axes)
        nothing = identity_of(term)
        self._begin(state, self.tiles.terms.number(nothing))
        if not self.is_even:
            operand = guarded(self.tiles.terms, operand, self.axis, nothing)
        self.tiles.reduce_into(term, operand, self.inside, tile, clear=False)
        self.body.known[term] = state
