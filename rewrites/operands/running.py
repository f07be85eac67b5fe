"""Accumulators of reductions that run in a loop, and how each is brought up to date.

What follows from what has been seen, such as a maximum, changes with every tile; `online` says by
which rules sums are made to follow it.
"""

import ast

from rewrites.dtypes import is_float
from rewrites.operands.body import Body, Held, subscript
from rewrites.operands.guards import may_be_hidden
from rewrites.operands.online import Running, identity
from rewrites.operands.places import Plan
from rewrites.operands.terms import (
    EXTREMES,
    MAXIMA,
    Axis,
    Term,
    how_reduced,
    propagates_nan,
    subterms,
)
from rewrites.operands.tiles import Tiles
from rewrites.quote import literal, name, place

POWERS = ("T.exp", "T.exp2")


class RunningValues:
    """The accumulators of some reductions over one axis."""

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

    def accumulator(self, term: Term) -> Held:
        """A tile that starts with what changes no result."""
        if term.kind == "dot":
            left, right = term.operands
            axes: tuple[Axis, ...] = (self._side(left), self._side(right))
        else:
            axes = tuple(self.plan.lanes(term.axes))
        tile = self.tiles.new_tile(self.body, term, axes)
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
        made = self.writer.names.fresh(f"{held.name}_value")
        self.writer.put(self.body, "made = tile[0]", made=made, tile=held.name)
        return Held(made, ())

    def may_be_hidden(self, base: Term) -> bool:
        maxima = [term for term in subterms(base) if term in self.held]
        is_part = bool(self.tiles.plan.splits)
        return any(may_be_hidden(term.operands[0], self.axis, is_part) for term in maxima)

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
        lanes = dict(zip(axes, self.tiles.counters, strict=False))
        index = indices(axes, lanes)
        old = {term: self.held[term].name for term in extremes}
        new: dict[Term, str] = {}
        statements: list[ast.stmt] = []
        for term in extremes:
            wanted = f"new_{old[term].removeprefix('row_')}"
            new[term] = self.tiles.tile(inside, wanted, axes, term.dtype)
            (operand,) = operands[term]
            self.tiles.reduce_into(term, operand, inside, new[term], clear=True)
            both = writer.tree(
                combining(term),
                a=subscript(old[term], index),
                b=subscript(new[term], index),
            )
            statements.append(assigned(new[term], index, both))
        for base in bases:
            is_scaled = self.rule_of(base) in POWERS
            wanted, dtype = ("rescale", "float32") if is_scaled else ("is_new", "bool")
            tile = self.tiles.tile(inside, wanted, axes, dtype)
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
            # What has found a NaN finds no other extreme.
            test = "(a != b) & (a == a)" if is_float(base.dtype) else "a != b"
            return self.writer.tree(test, a=before, b=after)
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
        tiles, axes = self.tiles, held.axes
        mean = self.means.get(base)
        if mean is None:
            mean = self.means[base] = tiles.tile(self.body, "mean_so_far", axes, base.dtype)
            writer.put(self.body, "T.clear(tile)", tile=mean)
        lanes = dict(zip(axes, tiles.counters, strict=False))
        index = indices(axes, lanes)
        moved = tiles.tile(inside, "new_mean", axes, base.dtype)
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


def indices(axes: tuple[Axis, ...], lanes: dict[Axis, str]) -> list[ast.expr]:
    """The indices of an element; a tile without axes has one element."""
    found: list[ast.expr] = [name(lanes[axis]) for axis in axes]
    return found or [literal(0)]


def combining(term: Term) -> str:
    """The template that combines two values `a` and `b` of a reduction."""
    how = how_of(term)
    if how == "sum":
        return "a + b"
    if propagates_nan(term):
        return f"T.{how}imum(a, b)"
    return f"T.{'max' if how in MAXIMA else how}(a, b)"


def how_of(term: Term) -> str:
    """How a reduction combines."""
    return how_reduced(term)[0]


def is_extreme(term: Term) -> bool:
    return how_of(term) in EXTREMES
