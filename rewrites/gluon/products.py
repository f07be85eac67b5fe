"""Products of a consumer: their layouts, and where wgmma reads their factors from."""

import ast
from dataclasses import dataclass, field

from rewrites.environment import environment_of
from rewrites.facts import Tile
from rewrites.gluon.errors import UnsuitedError
from rewrites.gluon.flights import Flight, Flights
from rewrites.gluon.layouts import Layout, Layouts, every
from rewrites.gluon.parts import Parts
from rewrites.gluon.rings import factors_of, halves_of, plain_factor, products_of
from rewrites.gluon.sites import Sites
from rewrites.quote import copy_tree, expr, name, stmts
from rewrites.ranges import range_of
from rewrites.tree import names_in


@dataclass
class Products:
    """Tiles that TMA brings are read as they lie; first factors that are computed, from registers.

    Other factors that are computed go through shared memory.
    """

    parts: Parts
    sites: Sites
    flights: Flights
    body: list[ast.stmt]
    # The columns of each layout of sums, and how many groups of warps share them; the layouts of
    # first factors in registers.
    columns: dict[str, tuple[ast.expr, int]] = field(default_factory=dict)
    factors: dict[str, str] = field(default_factory=dict)
    # The layouts of halves, by those of the whole.
    _halves: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        names = self._named()
        for one in self.columns:
            base = one.removesuffix("_layout")
            self.factors[one] = self.parts.names.fresh(f"{base}_factor_layout")
        loaded = {*self.parts.rings, *self.parts.once}
        self.layouts = Layouts(self.body, names, loaded, self.factors)
        for statement in every(self.body):
            self._learn_halves(statement)

    def _learn_halves(self, statement: ast.stmt) -> None:
        """Each thread has the left half of its rows, and the right one: they have layouts alike."""
        found = halves_of(statement)
        if found is None:
            return
        sides, tile, (_, columns) = found
        whole, width = (
            self.layouts.of(tile),
            range_of(columns, environment_of(self.parts.facts).ranges),
        )
        if whole is None or whole.lost is not None or whole.base not in self.columns:
            raise UnsuitedError(f"`{ast.unparse(tile)}` is split, which is no product")
        if self.columns[whole.base][1] > 1 or width.low is None or width.low < 8:
            raise UnsuitedError(f"warps share the columns of `{ast.unparse(tile)}`, which is split")
        half = self._halves.setdefault(whole.base, self.parts.names.fresh(f"{sides[0]}_layout"))
        self.columns[half] = columns, 1
        self.factors[half] = self.parts.names.fresh(f"{sides[0]}_factor_layout")
        self.layouts.known |= dict.fromkeys(sides, Layout(half))

    def halved(self, statement: ast.stmt) -> list[ast.stmt]:
        """The halves of a tile, which stay in the registers they are in."""
        found = halves_of(statement)
        assert found is not None
        (left, right), tile, (rows, columns) = found
        (layout,) = {self.layouts.known[one] for one in (left, right)}
        assert layout is not None
        made = stmts(
            "left, right = gl.split(gl.reshape(tile, (rows, 2, columns)).permute((0, 2, 1)))",
            left=left,
            right=right,
            tile=self.layouts.placed(tile, None),
            rows=rows,
            columns=columns,
        )
        for side in (left, right):
            made += stmts(
                "side = gl.convert_layout(side, layout, assert_trivial=True)",
                side=side,
                layout=layout.tree,
            )
        return made

    def _named(self) -> dict[str, str]:
        """The layout's name for each product's variable: one for all of a number of columns."""
        names: dict[str, str] = {}
        by_shape: dict[tuple[int, int], str] = {}
        for target, _ in products_of([*every(self.body)]):
            tile = self.parts.tile(target)
            beside = self._beside(target, tile)
            shape = tile.shape[1], beside
            if shape not in by_shape:
                by_shape[shape] = self.parts.names.fresh(f"{target}_layout")
            names[target] = by_shape[shape]
            self.columns[names[target]] = tile.trees[1], beside
        return names

    def _beside(self, target: str, tile: Tile) -> int:
        """How many groups of four warps share the columns of a product: rows are 16 to a warp."""
        warps = self.parts.warps
        beside = max(16 * warps // tile.shape[0], 1)
        is_fine = warps // beside >= 4 and tile.shape[1] // beside >= 8
        if not is_fine or tile.dtype != "float32":
            raise UnsuitedError(f"`{target}` is no product of {warps} warps")
        return beside

    def declared(self, read: set[str]) -> list[ast.stmt]:
        """The layouts of sums, and those of factors in registers that are `read`."""
        made: list[ast.stmt] = []
        for key, (columns, beside) in self.columns.items():
            warps = "[gl.num_warps(), 1]"
            if beside > 1:
                warps = f"[gl.num_warps() // {beside}, {beside}]"
                columns = expr("columns // beside", columns=columns, beside=ast.Constant(beside))
            made += stmts(
                f"key: gl.constexpr = gl.NVMMADistributedLayout([3, 0], {warps}, [16, n, width])",
                key=key,
                n=columns,
                width=ast.Constant(self.parts.depth),
            )
            if self.factors[key] in read:
                made += stmts(
                    "factor: gl.constexpr = gl.DotOperandLayout(0, key, width)",
                    factor=self.factors[key],
                    key=key,
                    width=ast.Constant(self.parts.width),
                )
        return made

    def made(
        self, target: str, call: ast.Call, tiles: list[str], statement: ast.stmt
    ) -> list[ast.stmt]:
        """A product, behind which the slots of `tiles` go back."""
        factors = factors_of(call)
        flight = Flight(target, reads={one for one, _ in factors}, tiles=tiles)
        made: list[ast.stmt] = []
        trees: list[ast.expr] = []
        for tree, (one, is_turned) in zip(call.args, factors, strict=False):
            if self.parts.is_loaded(one):
                factor: ast.expr = name(one)
            else:
                made += self.flights.finished(names_in(tree), statement)
                if tree is call.args[0] and not is_turned:
                    factor, leading = self._in_registers(target, one, tree, flight)
                else:
                    factor, leading = self._in_memory(one, tree, flight, statement)
                made += leading
            trees.append(expr("x.permute((1, 0))", x=factor) if is_turned else factor)
        made += self._issued(target, call, trees)
        self.flights.flying.append(flight)
        return made

    def _in_registers(
        self, target: str, one: str, tree: ast.expr, flight: Flight
    ) -> tuple[ast.expr, list[ast.stmt]]:
        layout = Layout(self.factors[self.layouts.products[target]])
        known = self.layouts.known.get(one)
        value = self.layouts.placed(tree, known)
        # Its own name, so that it stays while it is read, and the next turn's has another place.
        factor = self.sites.names.fresh(f"{one}_factor")
        flight.registers.append(factor)
        if known != layout:
            value = expr("gl.convert_layout(value, layout)", value=value, layout=layout.tree)
        return name(factor), stmts("factor = value", factor=factor, value=value)

    def _in_memory(
        self, one: str, tree: ast.expr, flight: Flight, statement: ast.stmt
    ) -> tuple[ast.expr, list[ast.stmt]]:
        value = plain_factor(tree)
        memory = self.sites.memory(one, value)
        flight.memories.append(one)
        made = self.flights.written(one, statement)
        made += stmts(
            "memory.store(value)\nfence_async_shared()",
            memory=memory,
            value=self.layouts.placed(value, self.layouts.known.get(one)),
        )
        return copy_tree(memory), made

    def _issued(self, target: str, call: ast.Call, factors: list[ast.expr]) -> list[ast.stmt]:
        """A product of two factors, which is added to what the call adds to."""
        a, b = factors
        added = call.args[2] if len(call.args) > 2 else None
        if isinstance(added, ast.Name):
            if added.id != target:
                raise UnsuitedError(f"`{target}` adds to `{added.id}`")
            return stmts(
                "total = warpgroup_mma(a, b, total, is_async=True)", total=target, a=a, b=b
            )
        rows, columns = self.parts.tile(target).trees
        return stmts(
            "total = warpgroup_mma(a, b, gl.zeros((rows, columns), gl.float32, layout=layout), "
            "use_acc=False, is_async=True)",
            total=target,
            a=a,
            b=b,
            rows=rows,
            columns=columns,
            layout=self.layouts.products[target],
        )
