"""Write the loops over a streamed axis: accumulators, and what each tile adds to them."""

import ast
import math
from dataclasses import dataclass

from rewrites.operands.body import Body, Held, subscript
from rewrites.operands.guards import (
    WHERE,
    conditions,
    guarded,
    may_be_hidden,
    without,
)
from rewrites.operands.limits import limit_of
from rewrites.operands.online import Running, identity, rebuilt
from rewrites.operands.plan import Output, Plan
from rewrites.operands.steps import step
from rewrites.operands.terms import Axis, Size, Term, how_reduced, subterms
from rewrites.operands.tiles import Tiles
from rewrites.quote import literal, name, place

POWERS = ("T.exp", "T.exp2")


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
        if axis is not None and tiles.plan.places[axis].role == "step":
            step(tiles, axis, body, outputs)
            continue
        inside = body if axis is None else open_loop(tiles, axis, body)
        for output in outputs:
            tiles.writer.node = output.node
            tiles.store(output.tensor, output.term, output.axes, inside)
        if axis is not None:
            close_loop(tiles, axis, inside)


def _streamed(plan: Plan, output: Output) -> Axis | None:
    """The axis of an output that is run over in a loop, for each row is too long for a tile."""
    looped = ("stream", "step")
    found = [axis for axis in output.axes if axis and plan.places[axis].role in looped]
    assert len(found) < 2
    return found[0] if found else None


def open_loop(tiles: Tiles, axis: Axis, body: Body) -> Body:
    """The body of a loop that stores along an axis, behind the reductions over it."""
    running = tiles.plan.loops.get(axis, [])
    if any(one.term not in body.known for one in running):
        stream(tiles, axis, body)
    counter = tiles.writer.fresh("k")
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
    loop = ast.For(ast.Name(inside.counter, ast.Store()), header, inside.statements, [])
    loop.type_comment = None
    assert inside.outer is not None
    inside.outer.statements.append(place(loop, writer.node))


@dataclass(frozen=True)
class Range:
    """Tiles from `start` to `stop`; those that are not `is_whole` need their conditions."""

    start: ast.expr
    stop: ast.expr
    is_whole: bool


class StreamLoop:
    def __init__(self, tiles: Tiles, axis: Axis, running: list[Running], body: Body) -> None:
        self.tiles = tiles
        self.writer = tiles.writer
        self.terms = tiles.terms
        self.plan: Plan = tiles.plan
        self.axis = axis
        self.running = running
        self.body = body
        self.held: dict[Term, Held] = {}
        # The means that squares are taken from, as far as the loop has seen.
        self.means: dict[Term, str] = {}
        # Whether tiles end where the extent does.
        self.is_even = False

    def write(self) -> None:
        for one in self.running:
            self.held[one.term] = self.accumulator(one.term)
        counter = self.writer.fresh("k")
        tests = self._tests()
        first = self.writer.mark()
        for part in self._ranges(tests):
            self.writer.repeat(first, self.body.depth + 1)
            self._turns(part, counter, tests)
        self.writer.repeat(None)
        for one in self.running:
            self.body.known[one.term] = self.result(self.held[one.term])

    def accumulator(self, term: Term) -> Held:
        """A tile that starts with what changes no result."""
        if term.kind == "dot":
            left, right = term.operands
            axes: tuple[Axis, ...] = (self._side(left), self._side(right))
        else:
            axes = tuple(self.plan.lanes(term.axes))
        sizes = [self.plan.places[axis].block for axis in axes] or [Size(1)]
        tile = self.tiles.new_tile(self.body, term, sizes)
        if identity_of(term) == 0:
            self.writer.put(self.body, "T.clear(tile)", tile=tile)
        else:
            value = self.tiles.number(identity_of(term))
            self.writer.put(self.body, "T.fill(tile, value)", tile=tile, value=value)
        return Held(tile, axes, is_cell=not axes)

    def _side(self, operand: Term) -> Axis:
        (axis,) = [one for one in self.plan.lanes(operand.axes) if one != self.axis]
        return axis

    def result(self, held: Held) -> Held:
        """What an accumulator holds behind the loop: a tile of one element is a scalar."""
        if held.axes:
            return held
        made = self.writer.fresh(f"{held.name}_value")
        self.writer.put(self.body, "made = tile[0]", made=made, tile=held.name)
        return Held(made, ())

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
        made = self.writer.fresh(wanted)
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
        for one in self.running:
            if not is_extreme(one.term) or one.base is not None:
                self._add(one, operands[one.term], inside)
        header = writer.tree("T.Pipelined(a, b)", a=part.start, b=part.stop)
        assert isinstance(header, ast.Call)
        if isinstance(part.start, ast.Constant):
            del header.args[0]
        stages = ast.keyword("num_stages", literal(self.plan.stages_along(self.axis)))
        header.keywords.append(stages)
        loop = ast.For(ast.Name(counter, ast.Store()), header, inside.statements, [])
        loop.type_comment = None
        self.body.statements.append(place(loop, writer.node))

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

    def may_be_hidden(self, base: Term) -> bool:
        maxima = [term for term in subterms(base) if term in self.held]
        is_part = bool(self.tiles.plan.splits)
        return any(may_be_hidden(term.operands[0], self.axis, is_part) for term in maxima)

    def _shift(self, base: Term) -> Term:
        """What is taken off: while a row has seen -inf only, exp2(-inf - 0) is 0 and not NaN."""
        terms = self.terms
        is_hidden = terms.apply("==", (base, terms.number(-math.inf)), "bool")
        shift = terms.apply(WHERE, (is_hidden, terms.number(0.0), base), base.dtype)
        if not shift.names:
            shift.names.append("shift")
        return shift

    def _maxima(self, inside: Body, operands: dict[Term, tuple[Term, ...]]) -> None:
        """Bring the running maxima up to date, and find what sums are rescaled by."""
        bases = list(dict.fromkeys(one.base for one in self.running if one.base is not None))
        found = {base: self.extremes(base) for base in bases}
        followed = {term for terms in found.values() for term in terms}
        self.rescales: dict[Term, Held] = {}
        for one in self.running:
            if not is_extreme(one.term) or one.base is not None:
                continue
            held = self.held[one.term]
            (operand,) = operands[one.term]
            if one.term not in followed:
                self.tiles.reduce_into(one.term, operand, inside, held.name, clear=False)
                inside.known[one.term] = held
        # Those of one shape are updated together.
        for axes in dict.fromkeys(self.held[term].axes for term in followed):
            extremes = [term for term in self.held if term in followed]
            extremes = [term for term in extremes if self.held[term].axes == axes]
            own = [base for base in bases if set(found[base]) & set(extremes)]
            self._follow(own, extremes, inside, operands)

    def extremes(self, base: Term) -> list[Term]:
        """The running maxima and minima that a value is made of."""
        inside = set(subterms(base))
        return [one.term for one in self.running if one.term in inside and is_extreme(one.term)]

    def _follow(
        self,
        bases: list[Term],
        extremes: list[Term],
        inside: Body,
        operands: dict[Term, tuple[Term, ...]],
    ) -> None:
        """`rescale = exp2(w - v)`, where maxima grow so that w becomes v."""
        writer = self.writer
        axes = self.held[extremes[0]].axes
        sizes = [self.plan.places[axis].block for axis in axes] or [Size(1)]
        lanes = dict(zip(axes, self.tiles.counters, strict=False))
        index = indices(axes, lanes)
        old = {term: self.held[term].name for term in extremes}
        new: dict[Term, str] = {}
        statements: list[ast.stmt] = []
        for term in extremes:
            wanted = f"new_{old[term].removeprefix('row_')}"
            new[term] = writer.tile(inside, wanted, sizes, term.dtype)
            (operand,) = operands[term]
            self.tiles.reduce_into(term, operand, inside, new[term], clear=True)
            both = writer.tree(
                f"T.{how_of(term)}(a, b)",
                a=subscript(old[term], index),
                b=subscript(new[term], index),
            )
            statements.append(assigned(new[term], index, both))
        for base in bases:
            is_scaled = self.rule_of(base) in POWERS
            wanted, dtype = ("rescale", "float32") if is_scaled else ("is_new", "bool")
            tile = writer.tile(inside, wanted, sizes, dtype)
            before, after = (
                self.with_maxima(base, values, index, inside, lanes) for values in (old, new)
            )
            statements.append(assigned(tile, index, self.scale(base, before, after)))
            self.rescales[base] = Held(tile, axes, not axes)
        for term in extremes:
            statements.append(assigned(old[term], index, subscript(new[term], index)))
            inside.known[term] = self.held[term]
        self.each(inside, axes, statements)

    def rule_of(self, base: Term) -> str:
        """How what follows a value is brought up to date."""
        return next(one.rule for one in self.running if one.base is base)

    def scale(self, base: Term, before: ast.expr, after: ast.expr) -> ast.expr:
        """What a sum is multiplied by where its w grows: 0 while all that was seen is -inf.

        Of what counts only where something is the extreme: whether that is another one.
        """
        rule = self.rule_of(base)
        if rule not in POWERS:
            return self.writer.tree("a != b", a=before, b=after)
        scaled = self.writer.tree(f"{rule}(a - b)", a=before, b=after)
        if not self.may_be_hidden(base):
            return scaled
        none = ast.UnaryOp(ast.USub(), self.writer.tree("T.infinity('float32')"))
        return self.writer.tree(
            "T.if_then_else(a == none, 0.0, scaled)", a=before, none=none, scaled=scaled
        )

    def with_maxima(
        self,
        term: Term,
        values: dict[Term, str],
        index: list[ast.expr],
        inside: Body,
        lanes: dict[Axis, str],
    ) -> ast.expr:
        """The expression of a term with other values of the maxima that it is made of."""
        if term in values:
            return subscript(values[term], index)
        if not set(values) & set(subterms(term)):
            return self.tiles.element(term, inside, lanes)
        operands = [self.with_maxima(one, values, index, inside, lanes) for one in term.operands]
        return self.tiles.applied(str(term.detail), operands)

    def each(self, body: Body, axes: tuple[Axis, ...], statements: list[ast.stmt]) -> None:
        """Statements for every element of a tile, or for its only one."""
        if axes:
            self.tiles.parallel(body, axes, statements)
            return
        for statement in statements:
            statement.type_comment = None  # type: ignore[attr-defined]
            body.statements.append(place(statement, self.writer.node))

    def _add(self, one: Running, operands: tuple[Term, ...], inside: Body) -> None:
        """Add what a tile contributes to a sum or a matrix product."""
        held = self.held[one.term]
        if one.rule == "mean":
            self._move_mean(one, inside)
        elif one.base is not None:
            self._rescale(one, self.rescales[one.base], inside)
        if one.term.kind == "dot":
            product = self.terms.like(one.term, operands)
            self.tiles.dot(product, inside, into=held.name)
        else:
            self.tiles.reduce_into(one.term, operands[0], inside, held.name, clear=False)
        inside.known[one.term] = held

    def _rescale(self, one: Running, by: Held, inside: Body) -> None:
        """Multiply an accumulator, or start it anew."""
        held = self.held[one.term]
        lanes = dict(zip(held.axes, self.tiles.counters, strict=False))
        index, factor = indices(held.axes, lanes), indices(by.axes, lanes)
        kept, change = subscript(held.name, index), subscript(by.name, factor)
        if one.rule in POWERS:
            value = self.writer.tree("a * b", a=kept, b=change)
        else:
            nothing = self.tiles.number(identity_of(one.term))
            value = self.writer.tree("T.if_then_else(b, c, a)", a=kept, b=change, c=nothing)
        self.each(inside, held.axes, [assigned(held.name, index, value)])

    def _move_mean(self, one: Running, inside: Body) -> None:
        """Let the squares be those of the distance from the mean of what has been seen."""
        writer = self.writer
        base, held = one.base, self.held[one.term]
        assert base is not None
        total = self.held[base.operands[0]]
        sizes = [self.plan.places[axis].block for axis in held.axes] or [Size(1)]
        mean = self.means.get(base)
        if mean is None:
            mean = self.means[base] = writer.tile(self.body, "mean_so_far", sizes, base.dtype)
            writer.put(self.body, "T.clear(tile)", tile=mean)
        lanes = dict(zip(held.axes, self.tiles.counters, strict=False))
        index = indices(held.axes, lanes)
        moved = writer.tile(inside, "new_mean", sizes, base.dtype)
        seen = inside.start(self.axis)
        block = writer.constant(self.plan.places[self.axis].block)
        count = writer.tree("seen + block", seen=seen, block=block)
        if not self.is_even:
            count = writer.tree("T.min(count, size)", count=count, size=self.axis.size.tree)
        kept, new, old = (subscript(tile, index) for tile in (held.name, moved, mean))
        sums = subscript(total.name, index)
        values = (
            (moved, writer.tree("sums / count", sums=sums, count=count)),
            (
                held.name,
                writer.tree(
                    "kept + (old - new) * (old - new) * seen",
                    kept=kept,
                    old=old,
                    new=new,
                    seen=seen,
                ),
            ),
            (mean, new),
        )
        self.each(inside, held.axes, [assigned(tile, index, value) for tile, value in values])
        inside.known[base] = Held(mean, held.axes, not held.axes)


def assigned(tile: str, index: list[ast.expr], value: ast.expr) -> ast.stmt:
    """`tile[i] = value`"""
    target = subscript(tile, index)
    target.ctx = ast.Store()
    return ast.Assign([target], value)


def identity_of(term: Term) -> int | float:
    """What changes nothing in a reduction."""
    return identity(how_of(term), term.dtype)


def common_conditions(running: list[Running]) -> set[Term]:
    """The conditions that hold wherever something counts in one of the reductions."""
    found = []
    for one in running:
        own = [conditions(operand, identity_of(one.term)) for operand in one.term.operands]
        found.append(set().union(*own))
    return set.intersection(*found) if found else set()


def indices(axes: tuple[Axis, ...], lanes: dict[Axis, str]) -> list[ast.expr]:
    """The indices of an element; a tile without axes has one element."""
    found: list[ast.expr] = [name(lanes[axis]) for axis in axes]
    return found or [literal(0)]


def how_of(term: Term) -> str:
    """How a reduction combines."""
    return how_reduced(term)[0]


def is_extreme(term: Term) -> bool:
    return how_of(term) in ("max", "min")
