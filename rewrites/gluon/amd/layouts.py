"""The constants of a kernel that say how its tiles lie, and the layouts of its variables."""

import ast
from dataclasses import dataclass

from rewrites.gluon.amd.parts import Parts
from rewrites.gluon.amd.tiles import Places, places_of
from rewrites.gluon.amd.versions import Versions
from rewrites.gluon.errors import UnsuitedError
from rewrites.gluon.layouts import Layout, every
from rewrites.gluon.rings import is_dot
from rewrites.quote import expr, literal, stmts
from rewrites.tree import walk


@dataclass
class Constants:
    """Names of layouts: of all products, of the lanes and memory of rings, and of factors."""

    parts: Parts

    def __post_init__(self) -> None:
        fresh = self.parts.names.fresh
        self.products = fresh("products")
        self._named: dict[str, tuple[str, ast.expr]] = {}
        self.shape = self._shape()
        self.warps = self._warps()
        self.lanes: dict[str, str] = {}
        self.memory: dict[str, str] = {}
        # Elements that a slot of a ring takes.
        self.elements: dict[str, int] = {}
        for one, fetch in self.parts.rings.items():
            places: Places = places_of(fetch, self.parts.chip, self.parts.warps, self.shape)
            self.lanes[one] = self._name("lanes", places.lanes)
            self.memory[one] = self._name("memory", places.memory)
            self.elements[one] = places.elements

    def _shape(self) -> int:
        """Rows of an instruction: 32 where rows are reduced, of which fewer lanes have a part.

        Or as many as `T.matrix_instruction` says.
        """
        asked = self.parts.launch.options.get("matrix_instr_nonkdim")
        if asked in self.parts.chip.depth:
            return asked
        rows = min(self.parts.tile(one).shape[0] for one in self.parts.widths)
        columns = min(self.parts.tile(one).shape[1] for one in self.parts.widths)
        is_wide = rows >= 32 * self.parts.warps and columns >= 32
        return 32 if self._goes_on and is_wide else 16

    @property
    def _goes_on(self) -> bool:
        """Whether sums are reduced or multiplied in loops, for which a warp has whole rows."""
        if 4 in self.parts.widths.values():
            return True
        calls = [node for loop in self.parts.loops for node in walk(loop)]
        return any(
            isinstance(one, ast.Attribute) and one.attr in ("max", "sum", "min", "reduce")
            for one in calls
        )

    def _warps(self) -> list[int]:
        """How warps share the sums: so that they read the least of both factors."""
        shapes = [self.parts.tile(one).shape for one in self.parts.widths]
        warps = self.parts.warps
        ways = [warps] if self._goes_on else [1 << bit for bit in range(warps.bit_length())]
        fitting = [
            (sum(rows // way + columns * way // warps for rows, columns in shapes), way)
            for way in ways
            if all(
                rows >= self.shape * way and columns >= self.shape * (warps // way)
                for rows, columns in shapes
            )
        ]
        if not fitting:
            raise UnsuitedError(f"{warps} warps have no part each of a product of {shapes[0]}")
        way = min(fitting)[1]
        return [way, warps // way]

    def _name(self, base: str, tree: ast.expr) -> str:
        key = ast.unparse(tree)
        if key not in self._named:
            self._named[key] = self.parts.names.fresh(base), tree
        return self._named[key][0]

    def factor(self, operand: int, width: int) -> str:
        """The layout of a factor in registers."""
        tree = expr(
            "gl.DotOperandLayout(operand, products, width)",
            operand=literal(operand),
            products=self.products,
            width=literal(width),
        )
        return self._name("first" if operand == 0 else "second", tree)

    def written(self) -> list[ast.stmt]:
        """The statements that say what layouts are."""
        depth = self.parts.chip.depth[self.shape]
        made = stmts(
            "products: gl.constexpr = gl.amd.AMDMFMALayout(version, shape, True, warps)",
            products=self.products,
            version=literal(self.parts.chip.version),
            shape=expr(repr([self.shape, self.shape, depth])),
            warps=expr(repr(self.warps)),
        )
        for called, tree in self._named.values():
            made += stmts("called: gl.constexpr = tree", called=called, tree=tree)
        return made


def versions_of(
    parts: Parts, body: list[ast.stmt], constants: Constants, index: set[str]
) -> Versions:
    """The layouts of the variables of a kernel, without the tiles that products read."""
    fetched = {id(one.statement) for one in parts.fetches}
    kept = [one for one in every(body) if id(one) not in fetched and not isinstance(one, ast.For)]
    products = dict.fromkeys(
        (
            one.targets[0].id
            for one in kept
            if isinstance(one, ast.Assign)
            and isinstance(one.targets[0], ast.Name)
            and is_dot(one.value)
        ),
        constants.products,
    )
    return Versions(kept, products, index, parts.names)


def rows(layout: str) -> Layout:
    """The layout of that name, as variables have it."""
    return Layout(layout)
