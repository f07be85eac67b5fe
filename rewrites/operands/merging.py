"""Combine accumulators that several programs have filled: the maxima first, then the sums."""

import ast

from rewrites.operands.body import Body, Held, subscript
from rewrites.operands.online import Running
from rewrites.operands.running import RunningValues, assigned, combining, indices, is_extreme
from rewrites.operands.terms import Axis, Term, subterms
from rewrites.operands.tiles import Tiles


class Merging(RunningValues):
    """The accumulators of the loops over an axis, and how those of a part are added to them."""

    def __init__(self, tiles: Tiles, axis: Axis, body: Body) -> None:
        running: list[Running] = tiles.plan.loops[axis]
        super().__init__(tiles, axis, running, body)

    def start(self) -> None:
        """Accumulators with what changes no result."""
        for one in self.running:
            self.held[one.term] = self.accumulator(one.term)

    def add(self, parts: dict[Term, Held], inside: Body) -> None:
        """Combine the tiles of one part with the accumulators."""
        bases = list(dict.fromkeys(one.base for one in self.running if one.base is not None))
        followed = {term for base in bases for term in subterms(base)}
        scales = {base: self._scales(base, parts, inside) for base in bases}
        for one in self.running:
            held, part = self.held[one.term], parts[one.term]
            if is_extreme(one.term):
                if one.term not in followed:
                    self._combine(held, part, combining(one.term), inside)
            elif one.base is None:
                self._combine(held, part, "a + b", inside)
            else:
                self._combine(held, part, "a * c + b * d", inside, scales[one.base])

    def end(self) -> None:
        """Let what follows read the accumulators."""
        for one in self.running:
            self.body.known[one.term] = self.result(self.held[one.term])

    def _scales(self, base: Term, parts: dict[Term, Held], inside: Body) -> tuple[Held, Held]:
        """What the sums so far, and those of the part, are multiplied by."""
        writer, tile = self.writer, self.tiles.tile
        maxima = [one.term for one in self.running if one.term in set(subterms(base))]
        axes = self.held[maxima[0]].axes
        lanes = dict(zip(axes, self.tiles.counters, strict=False))
        index = indices(axes, lanes)
        old = {term: self.held[term].name for term in maxima}
        own = {term: parts[term].name for term in maxima}
        new = {
            term: tile(inside, f"new_{old[term].removeprefix('row_')}", axes, term.dtype)
            for term in maxima
        }
        made = [tile(inside, one, axes, "float32") for one in ("rescale", "part_scale")]
        statements: list[ast.stmt] = []
        for term in maxima:
            both = writer.tree(
                combining(term), a=subscript(old[term], index), b=subscript(own[term], index)
            )
            statements.append(assigned(new[term], index, both))
        after = self.with_maxima(base, new, index, inside, lanes)
        for scale, values in zip(made, (old, own), strict=True):
            before = self.with_maxima(base, values, index, inside, lanes)
            statements.append(assigned(scale, index, self.scale(base, before, after)))
        statements += [assigned(old[term], index, subscript(new[term], index)) for term in maxima]
        self.each(inside, axes, statements)
        rescale, part_scale = (Held(one, axes, not axes) for one in made)
        return rescale, part_scale

    def _combine(
        self,
        held: Held,
        part: Held,
        template: str,
        inside: Body,
        scales: tuple[Held, Held] | None = None,
    ) -> None:
        lanes = dict(zip(held.axes, self.tiles.counters, strict=False))
        operands = {"a": held.element(lanes), "b": part.element(lanes)}
        if scales is not None:
            operands |= {"c": scales[0].element(lanes), "d": scales[1].element(lanes)}
        value = self.writer.tree(template, **operands)
        self.each(inside, held.axes, [assigned(held.name, indices(held.axes, lanes), value)])
