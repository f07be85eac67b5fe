"""Programs that compute several tiles of the grid in turn, while tiles of the next one arrive."""

import ast
import functools
from dataclasses import dataclass

from rewrites.facts import Facts, Launch
from rewrites.gluon.errors import UnsuitedError
from rewrites.gluon.layouts import every
from rewrites.gluon.pairs import in_kernel
from rewrites.gluon.parts import Parts
from rewrites.gluon.ranges import Chain
from rewrites.quote import copy_tree, expr, literal, name, stmts
from rewrites.tree import names_in


@dataclass
class Persistent:
    """The grid of tiles, its extents as the launcher and as kernels write them.

    Rings go on from tile to tile: the producer loads for the next one as soon as slots are free,
    which they are while consumers store.
    """

    grid: tuple[ast.expr, ...]
    extents: tuple[ast.expr, ...]
    programs: int
    tile: str

    @property
    def launched(self) -> tuple[ast.expr, ...]:
        """The programs that run: one for each tile, where there are fewer tiles."""
        total = _product(self.grid)
        return (expr("min(total, programs)", total=total, programs=literal(self.programs)),)

    def over(self, body: list[ast.stmt], counters: set[str]) -> list[ast.stmt]:
        """The body for each of a program's tiles, with layouts and turns set before."""
        ahead = [one for one in body if _is_ahead(one, counters)]
        places = _Places(self)
        inside = [places.visit(copy_tree(one)) for one in body if one not in ahead]
        header = expr(
            "range(gl.program_id(0), total, gl.num_programs(0))", total=_product(self.extents)
        )
        read = "tma.store_wait(0)"
        is_storing = any(
            isinstance(one, ast.Expr) and ast.unparse(one) == read for one in every(inside)
        )
        behind = stmts(read) if is_storing else []
        return [*ahead, ast.For(name(self.tile), header, inside, []), *behind]


def persistent_of(parts: Parts, chain: Chain, launch: Launch, facts: Facts) -> Persistent | None:
    """How a kernel's programs take tiles, if its schedule asks for it. Raises UnsuitedError."""
    asked = facts.schedule.programs
    if asked is None:
        return None
    if chain.differs:
        raise UnsuitedError("consumers of a persistent program stop at different turns")
    if parts.once:
        raise UnsuitedError(f"`{min(parts.once)}` is loaded once for each tile of a program")
    grid, extents = list(launch.grid), [in_kernel(one, facts) for one in launch.grid]
    if parts.pairing is not None:
        grid = parts.pairing.shared_out(grid, parts.consumers, "triton")
        extents = parts.pairing.shared_out(extents, parts.consumers, "gl")
    programs = asked or facts.multiprocessors
    return Persistent(tuple(grid), tuple(extents), programs, parts.names.fresh("tile"))


def _product(extents: tuple[ast.expr, ...]) -> ast.expr:
    return functools.reduce(lambda a, b: expr("a * b", a=a, b=b), map(copy_tree, extents))


def _is_ahead(statement: ast.stmt, counters: set[str]) -> bool:
    match statement:
        case ast.AnnAssign():
            return True
        case ast.Assign(targets=[target], value=ast.Constant()):
            return names_in(target) <= counters
    return False


@dataclass
class _Places(ast.NodeTransformer):
    """The place of a tile in the grid, in that of a program's own."""

    persistent: Persistent

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        extents, called = self.persistent.extents, ast.unparse(node.func)
        if called == "gl.num_programs":
            extent: ast.expr = copy_tree(extents[ast.literal_eval(node.args[0])])
            return extent
        if called != "gl.program_id":
            return node
        axis = ast.literal_eval(node.args[0])
        place: ast.expr = name(self.persistent.tile)
        if axis:
            place = expr("tile // before", tile=place, before=_product(extents[:axis]))
        if axis < len(extents) - 1:
            place = expr("tile % extent", tile=place, extent=copy_tree(extents[axis]))
        return place
