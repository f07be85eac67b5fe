"""The grid of a launch: which program computes which tiles, in which order."""

import ast
import functools

from rewrites.operands.body import Body, Writer
from rewrites.operands.places import Place, Plan
from rewrites.operands.terms import Axis
from rewrites.quote import literal, name, place

_BLOCKS = ("bx", "by", "bz")


class Grid:
    """`with T.Kernel(…)` over the axes of a plan that the grid has, the last of them first.

    `parts` is an extent of the grid beside them: the parts of an axis that is split.
    """

    def __init__(self, plan: Plan, writer: Writer, parts: ast.expr | None = None) -> None:
        self.plan = plan
        self.writer = writer
        self.axes = [axis for axis, one in plan.places.items() if one.role in ("grid", "tile")][
            ::-1
        ]
        self.extents = [self._programs(axis) for axis in self.axes]
        if parts is not None:
            self.extents.append(parts)
        count = max(1, min(3, len(self.extents)))
        self.names = [writer.names.fresh(one) for one in _BLOCKS[:count]]
        self.is_persistent = plan.programs is not None and bool(self.extents)
        self.inner = Body()
        # The number of the part, where there are parts.
        self.part: ast.expr | None = None

    def open(self, body: Body) -> Body:
        """Set down where each axis starts in a program; gives the body that computes a tile."""
        if self.is_persistent:
            self.inner = Body(body)
            indices = self._of_tile(self.inner)
            body = self.inner
        else:
            indices = self._of_program()
        for axis, index in zip(self.axes, indices, strict=False):
            body.starts[axis] = self._start(axis, index, body)
        if len(indices) > len(self.axes):
            self.part = indices[-1]
        return body

    def _of_program(self) -> list[ast.expr]:
        """The index along each extent; a fourth and later ones share the grid's last dimension."""
        indices: list[ast.expr] = [name(one) for one in self.names[: len(self.extents)]]
        if len(self.extents) <= 3:
            return indices
        return [*indices[:2], *self._apart(indices[2], self.extents[2:])]

    def _apart(self, index: ast.expr, extents: list[ast.expr]) -> list[ast.expr]:
        """One number as an index along each extent, the first being the fastest."""
        found = []
        for extent in extents[:-1]:
            found.append(self.writer.tree("a % b", a=index, b=extent))
            index = self.writer.tree("a // b", a=index, b=extent)
        return [*found, index]

    def _start(self, axis: Axis, index: ast.expr, body: Body) -> ast.expr:
        writer, one = self.writer, self.plan.places[axis]
        if axis in self.plan.reversed:
            last = writer.tree("count - 1", count=self._programs(axis))
            index = writer.tree("last - i", last=last, i=index)
        if one.role == "grid":
            return index
        start = writer.tree("i * block", i=index, block=writer.constant(one.block))
        if axis not in self.plan.reversed:
            return start
        # The last tiles have the most work and go first.
        first = writer.names.fresh("first")
        writer.put(body, "first = start", first=first, start=start)
        return name(first)

    def _programs(self, axis: Axis) -> ast.expr:
        one: Place = self.plan.places[axis]
        if one.role == "grid":
            return axis.size.tree
        block = self.writer.constant(one.block)
        return self.writer.tree("T.ceildiv(size, block)", size=axis.size.tree, block=block)

    # A persistent grid.

    def _of_tile(self, body: Body) -> list[ast.expr]:
        """The indices of the tile that a program computes in this turn."""
        writer = self.writer
        tile = writer.names.fresh("tile")
        body.counter = tile
        extents = self.extents
        if self.plan.swizzle is None or len(extents) < 2:
            made = self._apart(name(tile), extents)
            return [
                self._let(body, letter, tree) for letter, tree in zip("xyzuvw", made, strict=False)
            ]
        columns, rows = extents[:2]
        panel = literal(self.plan.swizzle)
        area = writer.tree("a * b", a=columns, b=rows)
        flat = self._let(body, "flat", writer.tree("t % area", t=name(tile), area=area))
        # Tiles run in panels of rows, so that neighbours share what they load.
        width = writer.tree("panel * columns", panel=panel, columns=columns)
        above = writer.tree("t // width * panel", t=flat, width=width, panel=panel)
        above = self._let(body, "above", above)
        left = writer.tree("rows - above", rows=rows, above=above)
        height = self._let(body, "height", writer.tree("T.min(T.max(a, 1), b)", a=left, b=panel))
        inside = writer.tree("t % width", t=flat, width=width)
        inside = self._let(body, "inside", inside)
        y = self._let(body, "y", writer.tree("a + i % h", a=above, i=inside, h=height))
        x = self._let(body, "x", writer.tree("i // h", i=inside, h=height))
        rest = extents[2:]
        if not rest:
            return [x, y]
        outer = writer.tree("t // area", t=name(tile), area=area)
        return [x, y, *self._apart(outer, rest)]

    def _let(self, body: Body, wanted: str, tree: ast.expr) -> ast.expr:
        made = self.writer.names.fresh(f"tile_{wanted}")
        self.writer.put(body, "made = tree", made=made, tree=tree)
        return name(made)

    # The statement.

    def closed(self, body: Body) -> ast.With:
        """The launch around a body that has been written."""
        writer, plan = self.writer, self.plan
        statements = [*self._swizzle(), *body.statements]
        extents = self.extents
        if len(extents) > 3:
            extents = [*extents[:2], self._product(extents[2:])]
        if self.is_persistent:
            programs = writer.tree("programs", programs=writer.number("programs", plan.programs))
            total = self._product(self.extents)
            loop = writer.tree(
                "T.serial(program, total, programs)",
                program=name(self.names[0]),
                total=total,
                programs=programs,
            )
            turns = ast.For(
                ast.Name(self.inner.counter, ast.Store()), loop, self.inner.statements, []
            )
            turns.type_comment = None
            writer.facts.program_loops.add(self.inner.counter)
            # What all tiles share stands in front of the loop over them.
            statements = [*statements, place(turns, writer.node)]
            extents = [writer.tree("T.min(a, b)", a=total, b=programs)]
        call = writer.tree("T.Kernel(threads=n)", n=literal(plan.threads))
        assert isinstance(call, ast.Call)
        call.args = extents or [literal(1)]
        names = self.names[: max(1, len(extents))]
        target: ast.expr = ast.Name(names[0], ast.Store())
        if len(names) > 1:
            target = ast.Tuple([ast.Name(one, ast.Store()) for one in names], ast.Store())
        made = ast.With([ast.withitem(call, target)], statements)
        made.type_comment = None
        return made

    def _product(self, extents: list[ast.expr]) -> ast.expr:
        return functools.reduce(
            lambda a, b: self.writer.tree("a * b", a=a, b=b), extents[1:], extents[0]
        )

    def _swizzle(self) -> list[ast.stmt]:
        """`T.use_swizzle(…)` for a grid over rows and columns."""
        if self.plan.swizzle is None or len(self.extents) < 2 or self.is_persistent:
            return []
        call = self.writer.tree("T.use_swizzle(panel)", panel=literal(self.plan.swizzle))
        return [place(ast.Expr(call), self.writer.node)]
