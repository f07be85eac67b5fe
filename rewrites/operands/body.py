"""The blocks of statements that a tile program is made of, and the tiles that each block knows."""

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from rewrites.environment import Names
from rewrites.facts import Facts, Tile
from rewrites.operands.terms import Axis, Size, Term
from rewrites.quote import expr, literal, name, place, stmts


@dataclass(frozen=True)
class Held:
    """Where a term is kept: a tile with an axis for each dimension, or without any a scalar.

    A scalar that is a `cell` is the one element of a tile.
    """

    name: str
    axes: tuple[Axis, ...]
    is_cell: bool = False

    def element(self, lanes: Mapping[Axis, str]) -> ast.expr:
        """The element for variables of the axes."""
        if self.axes:
            return subscript(self.name, [name(lanes[axis]) for axis in self.axes])
        return subscript(self.name, [literal(0)]) if self.is_cell else name(self.name)


@dataclass
class Body:
    """Statements of one depth: of the kernel, or of a loop in it.

    `starts` says where the axes that are open here begin. What is known outside is known inside.
    """

    outer: "Body | None" = None
    statements: list[ast.stmt] = field(default_factory=list)
    known: dict[Term, Held] = field(default_factory=dict)
    starts: dict[Axis, ast.expr] = field(default_factory=dict)
    # Reductions whose running values change in this loop.
    running: set[Term] = field(default_factory=set)
    # The part of an axis that is computed here, and how many parts there are.
    parts: dict[Axis, tuple[ast.expr, ast.expr]] = field(default_factory=dict)
    # The variable of the loop that this is the body of.
    counter: str = ""
    # Brings a scan up to date, in a loop over its axis.
    scan: Callable[[Term], Held] | None = None

    @property
    def depth(self) -> int:
        return 0 if self.outer is None else self.outer.depth + 1

    def find(self, term: Term) -> Held | None:
        body: Body | None = self
        while body is not None:
            if term in body.known:
                return body.known[term]
            body = body.outer
        return None

    def start(self, axis: Axis) -> ast.expr:
        body: Body | None = self
        while body is not None:
            if axis in body.starts:
                return body.starts[axis]
            body = body.outer
        raise AssertionError(f"the axis {axis.size} is not open")

    def is_open(self, axis: Axis) -> bool:
        return axis in self.starts or (self.outer is not None and self.outer.is_open(axis))


@dataclass
class Writer:
    """Makes statements, names and tiles of the program that is written."""

    facts: Facts
    names: Names
    node: ast.AST
    # Tiles with their depths in the order in which they were made, and those that a repeated loop
    # takes again.
    made: list[tuple[int, Tile]] = field(default_factory=list)
    again: list[tuple[int, Tile]] = field(default_factory=list)
    # What was decided by the values of constants, for an emitted file whose constants are edited.
    decided: dict[str, ast.expr] = field(default_factory=dict)

    numbers: dict[str, str] = field(default_factory=dict)

    def decide(self, template: str, **trees: ast.expr | str) -> None:
        """Note a condition that what is written relies on."""
        condition = self.tree(template, **trees)
        self.decided.setdefault(ast.unparse(condition), condition)

    def put(self, body: Body, template: str, **trees: ast.expr | str) -> None:
        """Append statements, placed where the user's expression stands."""
        for statement in stmts(template, **trees):
            body.statements.append(place(statement, self.node))

    def loop(self, body: Body, counter: str, header: ast.expr, inside: Body) -> None:
        """Append a loop whose body has been written."""
        made = ast.For(ast.Name(counter, ast.Store()), header, inside.statements, [])
        made.type_comment = None
        body.statements.append(place(made, self.node))

    def tree(self, template: str, **trees: ast.expr | str) -> ast.expr:
        return place(expr(template, **trees), self.node)

    def constant(self, size: Size) -> ast.expr:
        """An extent of a tile, which is a constant of the program."""
        if size.name:
            self.facts.constants.setdefault(size.name, size.value)
            return name(size.name)
        return literal(size.value)

    def tile(
        self, body: Body, wanted: str, sizes: list[Size], dtype: str, scope: str = "fragment"
    ) -> str:
        """Allocate a tile; a loop that is written again takes the names that it had."""
        extents = tuple(self.constant(size) for size in sizes)
        values = tuple(size.value for size in sizes)
        # What a loop has computed in front of itself is not its own to take again.
        same = [one for one in self.again if one[0] == body.depth]
        known = next((one for one in same if _is_like(one[1], wanted, values, dtype)), None)
        if known is not None:
            self.again.remove(known)
        made = self.names.fresh(wanted) if known is None else known[1].name
        shape = ast.Tuple(list(extents), ast.Load())
        self.put(
            body,
            f"tile = T.alloc_{scope}(shape, dtype)",
            tile=made,
            shape=shape,
            dtype=literal(dtype),
        )
        self.facts.tiles[made] = Tile(made, values, extents, dtype, scope)
        if known is None:
            self.made.append((body.depth, self.facts.tiles[made]))
        return made

    def number(self, wanted: str, value: int | None) -> ast.expr:
        """A named constant that a person may tune."""
        assert value is not None
        known = self.numbers.get(wanted)
        if known is None:
            known = self.numbers[wanted] = self.names.fresh(wanted)
            self.facts.constants[known] = value
        return name(known)

    def mark(self) -> int:
        """Where the tiles of a loop begin that may be written again."""
        return len(self.made)

    def repeat(self, mark: int | None, depth: int = 0) -> None:
        """Take the tiles since the mark again that are as deep or deeper; None: no more."""
        self.again = [] if mark is None else [one for one in self.made[mark:] if one[0] >= depth]


def _is_like(tile: Tile, wanted: str, shape: tuple[int, ...], dtype: str) -> bool:
    is_named = tile.name.rstrip("0123456789").rstrip("_") == wanted or tile.name == wanted
    return is_named and tile.shape == shape and tile.dtype == dtype


def subscript(base: str, indices: list[ast.expr]) -> ast.Subscript:
    index = indices[0] if len(indices) == 1 else ast.Tuple(indices, ast.Load())
    return ast.Subscript(name(base), index, ast.Load())
