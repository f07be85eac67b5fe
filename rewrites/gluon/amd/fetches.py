"""Tiles that pointers load for products, and how each is read there."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from rewrites.dtypes import bits
from rewrites.facts import Facts, Tile
from rewrites.gluon.errors import UnsuitedError
from rewrites.gluon.layouts import every
from rewrites.gluon.rings import factors_of, is_dot, products_of, reads
from rewrites.tree import walk


@dataclass(frozen=True)
class Fetch:
    """`name = tl.load(pointers, mask=mask, other=0.0)`, which products read as factor `operand`."""

    name: str
    statement: ast.Assign
    pointers: ast.expr
    mask: ast.expr | None
    tile: Tile
    operand: int
    is_turned: bool
    # Elements of the summed dimension that a lane has beside each other.
    width: int

    @property
    def is_summed_along_rows(self) -> bool:
        """Whether products sum over neighbours in memory."""
        return self.operand == int(self.is_turned)


def fetch_of(
    statement: ast.stmt, body: list[ast.stmt], widths: dict[str, int], facts: Facts
) -> Fetch | None:
    """The load of a tile for products that a statement is. Raises UnsuitedError."""
    match statement:
        case ast.Assign(
            targets=[ast.Name(id=target)],
            value=ast.Call(func=ast.Attribute(attr="load"), args=[pointers], keywords=words),
        ):
            pass
        case _:
            return None
    uses = list(_uses(target, body))
    if not uses:
        return None
    given = {one.arg: one.value for one in words}
    other = given.pop("other", None)
    if other is not None and ast.unparse(other) not in ("0", "0.0"):
        raise UnsuitedError(f"`{target}` is {ast.unparse(other)} where its mask hides it")
    mask = given.pop("mask", None)
    if given:
        raise UnsuitedError(f"`{min(map(str, given))}=` of a load has no form here")
    if any(target in reads(one) for one in every(body) if not _is_product(one)):
        raise UnsuitedError(f"`{target}` is read by more than products")
    tile = facts.tiles.get(target)
    if tile is None or tile.rank != 2 or bits(tile.dtype) != 16:
        raise UnsuitedError(f"`{target}` is no tile of two dimensions and 16 bits an element")
    ways = {(at, is_turned, widths[product]) for product, at, is_turned in uses}
    if len(ways) > 1:
        raise UnsuitedError(f"products read `{target}` in several ways")
    ((operand, is_turned, width),) = ways
    return Fetch(target, statement, pointers, mask, tile, operand, is_turned, width)


def _uses(variable: str, body: list[ast.stmt]) -> Iterator[tuple[str, int, bool]]:
    """The products that read a variable, as which factor, and whether transposed."""
    for target, call in products_of([*every(body)]):
        for at, (factor, is_turned) in enumerate(factors_of(call)):
            if factor == variable:
                yield target, at, is_turned


def _is_product(statement: ast.stmt) -> bool:
    match statement:
        case ast.Assign(value=value):
            return is_dot(value)
    return isinstance(statement, ast.For | ast.If)


def loads_in(tree: ast.AST) -> bool:
    """Whether anything is loaded."""
    return any(isinstance(one, ast.Attribute) and one.attr == "load" for one in walk(tree))
