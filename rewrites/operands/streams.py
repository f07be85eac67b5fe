"""Write the loops over a streamed axis: accumulators, and what each tile adds to them."""

import ast
import math
from dataclasses import dataclass

from rewrites.operands.body import Body
from rewrites.operands.guards import WHERE, conditions, guarded, without
from rewrites.operands.limits import limit_of
from rewrites.operands.online import Running, rebuilt
from rewrites.operands.places import Output, Plan
from rewrites.operands.running import POWERS, RunningValues, identity_of, is_extreme
from rewrites.operands.steps import step
from rewrites.operands.terms import Axis, Term
from rewrites.operands.tiles import Tiles
from rewrites.quote import literal, name


def stream(tiles: Tiles, axis: Axis, body: Body) -> None:
    """Compute every reduction over the axis, in as few loops as their needs allow."""
    running = tiles.plan.loops[axis]
    for level in range(1 + max(one.level for one in running)):
        StreamLoop(tiles, axis, [one for one in running if one.level == level], body).write()


def store_outputs(tiles: Tiles, body: Body) -> None:
    """Store every output; one along whose axis there is a loop is stored in a loop of its own."""
    looped: dict[Axis | None, list[Output]] = {}
    for output in tiles.plan.outputs:
        looped.setdefault(_streamed(tiles.plan, output), []).append(output)
    for axis, outputs in sorted(looped.items(), key=lambda one: one[0] is None):
        if axis is not None and axis in tiles.plan.scanned:
            step(tiles, axis, body, outputs)
            continue
        inside = body if axis is None else open_loop(tiles, axis, body)
        for output in outputs:
            tiles.writer.node = output.node
            tiles.store(output, inside)
        if axis is not None:
            close_loop(tiles, axis, inside)


def _streamed(plan: Plan, output: Output) -> Axis | None:
    """The axis of an output that is run over in a loop, for each row is too long for a tile."""
    looped = ("stream", "step")
    found = [axis for axis in output.axes if plan.places[axis].role in looped]
    assert len(found) < 2
    return found[0] if found else None


def open_loop(tiles: Tiles, axis: Axis, body: Body) -> Body:
    """The body of a loop that stores along an axis, behind the reductions over it."""
    running = tiles.plan.loops.get(axis, [])
    if any(one.term not in body.known for one in running):
        stream(tiles, axis, body)
    counter = tiles.writer.names.fresh("k")
    block = tiles.writer.constant(tiles.plan.places[axis].block)
    start = tiles.writer.tree("k * block", k=name(counter), block=block)
    inside = Body(body, starts={axis: start})
    inside.counter = counter
    return inside


def close_loop(tiles: Tiles, axis: Axis, inside: Body) -> None:
    """Put the loop behind what stands before it."""
    writer = tiles.writer
    block = writer.constant(tiles.plan.places[axis].block)
    count = writer.tree("T.ceildiv(size, block)", size=axis.size.tree, block=block)
    header = writer.tree(
        "T.Pipelined(n, num_stages=s)", n=count, s=literal(tiles.plan.stages_along(axis))
    )
    assert inside.outer is not None
    writer.loop(inside.outer, inside.counter, header, inside)


@dataclass(frozen=True)
class Range:
    """Tiles from `start` to `stop`; those that are not `is_whole` need their conditions."""

    start: ast.expr
    stop: ast.expr
    is_whole: bool


class StreamLoop(RunningValues):
    def write(self) -> None:
        for one in self.running:
            self.held[one.term] = self.accumulator(one.term)
        counter = self.writer.names.fresh("k")
        tests = self._tests()
        first = self.writer.mark()
        for part in self._ranges(tests):
            self.writer.repeat(first, self.body.depth + 1)
            self._turns(part, counter, tests)
        self.writer.repeat(None)
        for one in self.running:
            self.body.known[one.term] = self.result(self.held[one.term])

    # Which tiles.

    def _tests(self) -> set[Term]:
        """The conditions without which a tile counts in none of the reductions."""
        return {
            test
            for test in common_conditions(self.running)
            if limit_of(test, self.axis, self.plan, self.body, self.writer) is not None
        }

    def _ranges(self, tests: set[Term]) -> list[Range]:
        """Tiles on the edge of a condition, and those that lie within all of them."""
        writer = self.writer
        block = writer.constant(self.plan.places[self.axis].block)
        size = self.axis.size
        known = {"block": block, "size": size.tree}
        stop = writer.tree("T.ceildiv(size, block)", **known)
        whole = writer.tree("size // block", **known)
        self.is_even = (
            size.value % self.plan.places[self.axis].block.value == 0
            and size.name not in writer.facts.dims
        )
        if self.is_even:
            whole = stop
            self.writer.decide("size % block == 0", **known)
        first: ast.expr = literal(0)
        inner: ast.expr | None = None
        ordered = sorted(tests, key=lambda test: str(test.detail))
        for test in ordered:
            limit = limit_of(test, self.axis, self.plan, self.body, writer)
            assert limit is not None
            if limit.is_upper:
                last = writer.tree("T.ceildiv(a, block)", a=limit.greatest(1), block=block)
                stop = writer.tree("T.min(a, b)", a=stop, b=last)
                within = writer.tree("a // block", a=limit.least(1), block=block)
                whole = writer.tree("T.min(a, b)", a=whole, b=within)
            else:
                begin = writer.tree("a // block", a=limit.least(), block=block)
                first = writer.tree("T.max(a, b)", a=first, b=begin)
                edge = writer.tree("T.ceildiv(a, block)", a=limit.greatest(), block=block)
                inner = edge if inner is None else writer.tree("T.max(a, b)", a=inner, b=edge)
        if self.axis in self.body.parts:
            first, stop = self._part(first, stop)
        if not tests and (self.is_even or not self._needs_guards()):
            if self.axis not in self.body.parts:
                stop = writer.tree("T.ceildiv(size, block)", **known)
            return [Range(first, stop, True)]
        if not tests and self.axis not in self.body.parts:
            return [Range(first, whole, True), Range(whole, stop, False)]
        first, stop = self._let("first", first), self._let("stop", stop)
        if inner is None:
            whole = writer.tree("T.max(T.min(a, c), b)", a=whole, b=first, c=stop)
            whole = self._let("whole", whole)
            return [Range(first, whole, True), Range(whole, stop, False)]
        edge = writer.tree("T.min(T.max(a, b), c)", a=inner, b=first, c=stop)
        inner = self._let("inner", edge)
        whole = self._let("whole", writer.tree("T.max(T.min(a, c), b)", a=whole, b=inner, c=stop))
        return [Range(first, inner, False), Range(inner, whole, True), Range(whole, stop, False)]

    def _part(self, first: ast.expr, stop: ast.expr) -> tuple[ast.expr, ast.expr]:
        """Where the part of this program begins and ends, of the tiles that all parts share."""
        writer = self.writer
        part, parts = self.body.parts[self.axis]
        stop = self._let("last", stop)
        count = writer.tree("a - b", a=stop, b=first)
        if isinstance(first, ast.Constant):
            count = stop
        share = self._let("share", writer.tree("T.ceildiv(n, parts)", n=count, parts=parts))
        own = writer.tree("part * share", part=part, share=share)
        if not isinstance(first, ast.Constant):
            own = writer.tree("a + b", a=first, b=own)
        own = self._let("first", own)
        end = writer.tree("T.min(a + share, stop)", a=own, share=share, stop=stop)
        return own, self._let("stop", end)

    def _needs_guards(self) -> bool:
        """Whether elements behind the end of the extent would count."""
        return any(
            guarded(self.terms, operand, self.axis, identity_of(one.term)) is not operand
            for one in self.running
            for operand in one.term.operands
        )

    def _let(self, wanted: str, tree: ast.expr) -> ast.expr:
        if isinstance(tree, (ast.Constant, ast.Name)):
            return tree
        made = self.writer.names.fresh(wanted)
        self.writer.put(self.body, "made = tree", made=made, tree=tree)
        return name(made)

    # One turn.

    def _turns(self, part: Range, counter: str, tests: set[Term]) -> None:
        writer = self.writer
        block = writer.constant(self.plan.places[self.axis].block)
        start = writer.tree("k * block", k=name(counter), block=block)
        inside = Body(
            self.body, starts={self.axis: start}, running={one.term for one in self.running}
        )
        operands = self._operands(part.is_whole, tests)
        self.tiles.count_uses([x for several in operands.values() for x in several])
        self._maxima(inside, operands)
        # A sum before a product needs what both are made of for a shorter time.
        for one in sorted(self.running, key=lambda one: one.term.kind == "dot"):
            if not is_extreme(one.term) or one.base is not None:
                self._add(one, operands[one.term], inside)
        header = writer.tree("T.Pipelined(a, b)", a=part.start, b=part.stop)
        assert isinstance(header, ast.Call)
        if isinstance(part.start, ast.Constant):
            del header.args[0]
        stages = ast.keyword("num_stages", literal(self.plan.stages_along(self.axis)))
        header.keywords.append(stages)
        writer.loop(self.body, counter, header, inside)

    def _operands(self, is_whole: bool, tests: set[Term]) -> dict[Term, tuple[Term, ...]]:
        """What each reduction reduces in these turns."""
        made: dict[Term, tuple[Term, ...]] = {}
        for one in self.running:
            operands = list(one.term.operands)
            if is_whole:
                if tests:
                    operands = without(self.terms, operands, tests, list(self.held))
            elif not self.is_even:
                nothing = identity_of(one.term)
                operands = [guarded(self.terms, x, self.axis, nothing) for x in operands]
            if one.base is not None and one.rule in POWERS and self.may_be_hidden(one.base):
                operands = self._shifted(operands, one.base)
            made[one.term] = tuple(operands)
        return made

    def _shifted(self, operands: list[Term], base: Term) -> list[Term]:
        """The operands with what is taken off in place of `base`."""
        shift = self._shift(base)

        def change(term: Term) -> Term:
            return shift if term is base else term

        return rebuilt(self.terms, operands, change, list(self.held))

    def _shift(self, base: Term) -> Term:
        """What is taken off: while a row has seen -inf only, exp2(-inf - 0) is 0 and not NaN."""
        terms = self.terms
        is_hidden = terms.apply("==", (base, terms.number(-math.inf)), "bool")
        shift = terms.apply(WHERE, (is_hidden, terms.number(0.0), base), base.dtype)
        if not shift.names:
            shift.names.append("shift")
        return shift


def common_conditions(running: list[Running]) -> set[Term]:
    """The conditions that hold wherever something counts in one of the reductions."""
    found = []
    for one in running:
        own = [conditions(operand, identity_of(one.term)) for operand in one.term.operands]
        found.append(set().union(*own))
    return set.intersection(*found) if found else set()
