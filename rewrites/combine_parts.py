"""Write what keeps the parts of sums and extremes in workspaces, and what combines them."""

import ast
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from rewrites.carried import Part, Rule, Weight
from rewrites.carried_terms import ONE
from rewrites.dtypes import bits
from rewrites.environment import Names, next_power_of_two
from rewrites.facts import Facts, Tensor, Tile
from rewrites.known_values import filled_with, size_of
from rewrites.nodes import Comment
from rewrites.quote import copy_tree, expr, literal, name, stmts
from rewrites.shapes import plain_extent
from rewrites.tree import names_in

# The lowest number of float32, and one that stays finite under any usual factor.
LOWEST = -3.4028234663852886e38
LOW = -(2.0**100)

Element = Callable[[list[ast.expr]], ast.expr]


@dataclass
class Parts:
    """The carried tiles and variables of a split loop, by their rules.

    `extents` are those of the workspaces before a tile's own, and `counters` the variables of loops
    over T.Parallel, whose names other such loops may have.
    """

    rules: dict[str, Rule]
    extents: list[ast.expr]
    counters: set[str]
    names: Names
    facts: Facts
    workspaces: dict[str, str] = field(default_factory=dict)
    lanes: list[str] = field(default_factory=list)

    @property
    def bases(self) -> list[str]:
        """The extremes that sums are relative to."""
        found = {part.name for rule in self.rules.values() for part in rule.weight.parts}
        return sorted(found)

    # The first launch.

    def resets(self, before: list[ast.stmt]) -> list[ast.stmt]:
        """What lets a part begin: sums at 0, and extremes at a number that is finite."""
        made: list[ast.stmt] = []
        for one, rule in self.rules.items():
            if rule.kind == "sum" and filled_with(one, before, self.facts) != 0:
                zero = "T.clear(x)" if one in self.facts.tiles else "x = 0"
                made += stmts(zero, x=one)
        return [*made, *self._bounds(before)]

    def _bounds(self, before: list[ast.stmt]) -> list[ast.stmt]:
        """Extremes that are infinite so far are made finite, for they are taken from themselves."""
        made: list[ast.stmt] = []
        for one in self.bases:
            first = filled_with(one, before, self.facts)
            if first is not None and math.isfinite(first):
                continue
            if not made:
                made.append(Comment("Of infinities that a part may find alone, none is taken."))

            def bounded(at: list[ast.expr], one: str = one) -> ast.expr:
                bound = literal(self._bound(one))
                return expr(f"T.{self.rules[one].kind}(x, y)", x=self._at(one, at), y=bound)

            made += self._each(one, bounded)
        return made

    def _bound(self, one: str) -> float:
        """The lowest number, or highest, that stays finite when it is multiplied by factors."""
        factors = [
            size_of(part.factor, self.facts)
            for rule in self.rules.values()
            for part in rule.weight.parts
            if part.name == one
        ]
        known = all(factor is not None and factor <= 1 for factor in factors)
        bound = LOWEST if known else LOW
        return bound if self.rules[one].kind == "max" else -bound

    def stores(self, place: list[ast.expr]) -> list[ast.stmt]:
        """What keeps a part in the workspaces, at a place of theirs."""
        made: list[ast.stmt] = []
        for one in self.rules:
            region = self._region(self._workspace(one), one, place)
            if one in self.facts.tiles:
                made += stmts("T.copy(x, region)", x=one, region=region)
            else:
                region.ctx = ast.Store()
                (store,) = stmts("x = y", y=name(one))
                assert isinstance(store, ast.Assign)
                store.targets = [region]
                made.append(store)
        return made

    def _workspace(self, one: str) -> str:
        facts = self.facts
        if one not in self.workspaces:
            made = self.workspaces[one] = self.names.fresh(f"{one}_parts")
            tile = facts.tiles.get(one)
            trees = () if tile is None else tile.trees
            dtype = facts.variables[one] if tile is None else tile.dtype
            shape = tuple(map(plain_extent, (*self.extents, *trees)))
            facts.tensors[made] = Tensor(made, shape, dtype, "workspace")
        return self.workspaces[one]

    def _region(self, workspace: str, one: str, place: list[ast.expr]) -> ast.Subscript:
        tile = self.facts.tiles.get(one)
        rank = 0 if tile is None else tile.rank
        whole: list[ast.expr] = [ast.Slice(None, None, None) for _ in range(rank)]
        indices = [*map(copy_tree, place), *whole]
        return ast.Subscript(name(workspace), ast.Tuple(indices, ast.Load()), ast.Load())

    # The second launch.

    def merge(
        self,
        before: list[ast.stmt],
        behind: list[ast.stmt],
        part: str,
        header: ast.expr,
        place: list[ast.expr],
    ) -> list[ast.stmt]:
        """The loop over the parts, from the values that stand before the kernel's own loop.

        `part` is its variable, `header` what it runs over, and `place` where a part is kept.
        """
        bounds = self._bounds(before)
        loaded = {one: self._beside(one, f"{one}_part") for one in self.rules}
        newest = {one: self._beside(one, f"new_{one}") for one in self.bases}
        made = [*bounds, *self._declared([*loaded.values(), *newest.values()])]
        inside: list[ast.stmt] = []
        for one in self.rules:
            inside += self._loaded(one, loaded[one], place)
        inside += self._combined(loaded, newest)
        self.facts.made_loops.add(part)
        loop = ast.For(ast.Name(part, ast.Store()), header, inside, [])
        loop.type_comment = None
        return [*made, loop, *self._unbounded(bounds, behind)]

    def stages(self, most: int) -> int:
        """Up to `most` stages of the loop, whose tiles take half of the chip's shared memory.

        A single one takes none of it.
        """
        tiles = [self.facts.tiles[one] for one in self.rules if one in self.facts.tiles]
        size = sum(
            math.prod(map(next_power_of_two, tile.shape)) * bits(tile.dtype) // 8 for tile in tiles
        )
        return min(most, 1 + self.facts.shared_memory // 2 // max(1, size))

    def _beside(self, one: str, wanted: str) -> str:
        """A tile or variable like another one."""
        facts = self.facts
        made = self.names.fresh(wanted)
        tile = facts.tiles.get(one)
        if tile is None:
            facts.variables[made] = facts.variables[one]
        else:
            facts.tiles[made] = replace(tile, name=made, scope="fragment", base="")
        return made

    def _declared(self, made: list[str]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for one in made:
            tile = self.facts.tiles.get(one)
            if tile is None:
                dtype = literal(self.facts.variables[one])
                found += stmts("x = T.alloc_var(dtype, 0)", x=one, dtype=dtype)
            else:
                found += stmts(
                    "x = T.alloc_fragment(shape, dtype)",
                    x=one,
                    shape=ast.Tuple([copy_tree(tree) for tree in tile.trees], ast.Load()),
                    dtype=literal(tile.dtype),
                )
        return found

    def _loaded(self, one: str, target: str, place: list[ast.expr]) -> list[ast.stmt]:
        region = self._region(self._workspace(one), one, place)
        template = "T.copy(region, x)" if one in self.facts.tiles else "x = region"
        return stmts(template, x=target, region=region)

    def _combined(self, loaded: dict[str, str], newest: dict[str, str]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for one, rule in self.rules.items():
            if rule.kind != "sum":

                def extreme(at: list[ast.expr], one: str = one, kind: str = rule.kind) -> ast.expr:
                    two = self._at(loaded[one], at)
                    template = "x | y" if kind == "any" else f"T.{kind}(x, y)"
                    return expr(template, x=self._at(one, at), y=two)

                made += self._each(newest.get(one, one), extreme)
        for one, rule in self.rules.items():
            if rule.kind == "sum":
                made += self._summed(one, rule.weight, loaded, newest)
        for one, new in newest.items():
            copy = "T.copy(new, old)" if one in self.facts.tiles else "old = new"
            made += stmts(copy, new=new, old=one)
        return made

    def _summed(
        self, one: str, weight: Weight, loaded: dict[str, str], newest: dict[str, str]
    ) -> list[ast.stmt]:
        def total(at: list[ast.expr]) -> ast.expr:
            own, other = self._at(one, at), self._at(loaded[one], at)
            if weight.parts:
                scales = (
                    self._scale(weight, at, {}, newest),
                    self._scale(weight, at, loaded, newest),
                )
                own = expr("x * scale", x=own, scale=scales[0])
                other = expr("x * scale", x=other, scale=scales[1])
            return expr("x + y", x=own, y=other)

        return self._each(one, total)

    def _scale(
        self, weight: Weight, at: list[ast.expr], held: dict[str, str], newest: dict[str, str]
    ) -> ast.expr:
        """exp(w(own) - w(new)), where `held` are the names of the extremes of a part."""
        total: ast.expr | None = None
        for part in sorted(weight.parts, key=lambda part: (part.name, str(part.index))):
            places = [_place(index, at) for index in part.index]
            moved = expr(
                "x - y",
                x=self._at(held.get(part.name, part.name), places),
                y=self._at(newest[part.name], places),
            )
            factor = _factor(part)
            if factor is not None:
                moved = expr("x * c", x=moved, c=factor)
            total = moved if total is None else expr("x + y", x=total, y=moved)
        assert total is not None
        return expr(f"T.exp{weight.base.removesuffix('e')}(x)", x=total)

    def _unbounded(self, bounds: list[ast.stmt], behind: list[ast.stmt]) -> list[ast.stmt]:
        """An extreme of nothing is infinite again, where it is read."""
        read = names_in(ast.Module(behind, []))
        bounded = names_in(ast.Module(bounds, []))
        made: list[ast.stmt] = []
        for one in self.bases:
            if one not in read & bounded:
                continue
            is_max = self.rules[one].kind == "max"

            def freed(at: list[ast.expr], one: str = one, is_max: bool = is_max) -> ast.expr:
                return expr(
                    f"T.if_then_else(x {'>' if is_max else '<'} bound, x, "
                    f"{'-' if is_max else ''}T.infinity(dtype))",
                    x=self._at(one, at),
                    bound=literal(self._bound(one)),
                    dtype=literal(self._dtype(one)),
                )

            made += self._each(one, freed)
        return made

    # Elements.

    def _dtype(self, one: str) -> str:
        tile = self.facts.tiles.get(one)
        return self.facts.variables[one] if tile is None else tile.dtype

    def _at(self, one: str, at: list[ast.expr]) -> ast.expr:
        """An element of a tile, or a variable."""
        if one not in self.facts.tiles:
            return name(one)
        index = ast.Tuple([copy_tree(place) for place in at], ast.Load())
        return ast.Subscript(name(one), index if len(at) > 1 else copy_tree(at[0]), ast.Load())

    def _each(self, one: str, value: Element) -> list[ast.stmt]:
        """The assignment of a value to every element."""
        tile = self.facts.tiles.get(one)
        if tile is None:
            return stmts("x = value", x=one, value=value([]))
        at = [name(lane) for lane in self._lanes(tile)]
        target = self._at(one, list(at))
        assert isinstance(target, ast.Subscript)
        target.ctx = ast.Store()
        (store,) = stmts("x = value", value=value(list(at)))
        assert isinstance(store, ast.Assign)
        store.targets = [target]
        (loop,) = stmts("for i in T.Parallel():\n    pass")
        assert isinstance(loop, ast.For) and isinstance(loop.iter, ast.Call)
        loop.iter.args = [copy_tree(tree) for tree in tile.trees]
        lanes: list[ast.expr] = [ast.Name(lane.id, ast.Store()) for lane in at]
        loop.target = lanes[0] if len(lanes) == 1 else ast.Tuple(lanes, ast.Store())
        loop.body = [store]
        return [loop]

    def _lanes(self, tile: Tile) -> list[str]:
        while len(self.lanes) < tile.rank:
            letter = "ijklmnopq"[len(self.lanes)]
            self.lanes.append(letter if letter in self.counters else self.names.fresh(letter))
        return self.lanes[: tile.rank]


def _place(index: str | int, at: list[ast.expr]) -> ast.expr:
    return literal(index) if isinstance(index, int) else at[int(index[1:])]


def _factor(part: Part) -> ast.expr | None:
    """A factor as a tree; None for 1."""
    total: ast.expr | None = None
    for names, number in sorted(part.factor):
        product: ast.expr | None = None if number == 1 and names else literal(float(number))
        for one in names:
            product = name(one) if product is None else expr("a * b", a=product, b=name(one))
        assert product is not None
        total = product if total is None else expr("a + b", a=total, b=product)
    return None if part.factor == ONE else total
