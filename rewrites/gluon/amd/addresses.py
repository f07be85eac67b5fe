"""Where pointers load and store tiles: a number added to the pointer, and offsets of 32 bits."""

import ast
import functools
import math
from collections.abc import Iterator, Set
from dataclasses import dataclass

from rewrites.dtypes import bits
from rewrites.environment import Environment
from rewrites.facts import Facts
from rewrites.gluon.errors import UnsuitedError
from rewrites.quote import copy_tree, expr
from rewrites.ranges import range_of
from rewrites.tree import names_in, walk

# Elements of 16 bits that one instruction moves for a lane.
VECTOR = 8
# What buffer instructions reach.
MOST_BYTES = 1 << 31


@dataclass(frozen=True)
class Address:
    """`base` is a pointer, `offsets` a tile of elements from there."""

    tensor: str
    base: ast.expr
    offsets: ast.expr


def address_of(tree: ast.expr, definitions: dict[str, ast.expr], facts: Facts) -> Address:
    """The address that is a sum of a tensor's parameter, numbers, and tiles.

    `definitions` has what variables that are tiles of indices are. Raises UnsuitedError.
    """
    terms = [one for term in _terms(tree) for one in _expanded(term, definitions)]
    pointer, *rest = terms
    if not isinstance(pointer, ast.Name) or pointer.id not in facts.tensors:
        raise UnsuitedError(f"`{ast.unparse(tree)}` is no sum of a tensor's address and offsets")
    scalars = [one for one in rest if not names_in(one) & definitions.keys() and not _arange(one)]
    tiles = [one for one in rest if one not in scalars]
    if not tiles:
        raise UnsuitedError(f"`{ast.unparse(tree)}` is one address")
    base: ast.expr = copy_tree(pointer)
    if scalars:
        base = ast.BinOp(base, ast.Add(), _sum(scalars))
    return Address(pointer.id, base, _sum(tiles))


def require_rows(
    address: Address, mask: ast.expr | None, definitions: dict[str, ast.expr], known: Environment
) -> None:
    """Let each row of a tile be neighbours in memory, from multiples of 16 bytes on."""
    text = ast.unparse(address.offsets)
    columns = [one for one in _terms(address.offsets) if _is_column_index(one)]
    rows = [one for one in _terms(address.offsets) if not _is_column_index(one)]
    if len(columns) != 1 or not rows or not all(map(_row, rows)):
        raise UnsuitedError(f"`{text}` does not go along rows")
    steps = [known.divisor(_step(one)) for one in rows]
    (column,) = (one for one in walk(columns[0]) if isinstance(one, ast.Name))
    starts = [known.divisor(one) for one in _terms(definitions[column.id]) if not _arange(one)]
    if isinstance(address.base, ast.BinOp):
        starts += [known.divisor(one) for one in _terms(address.base.right)]
    edges = [] if mask is None else [known.divisor(one) for one in _column_edges(mask)]
    if math.gcd(*steps, *starts, *edges) % VECTOR:
        raise UnsuitedError(f"rows of `{address.tensor}` are no multiples of 16 bytes")


def near(
    address: Address,
    definitions: dict[str, ast.expr],
    moving: Set[str],
    facts: Facts,
    known: Environment,
) -> Address:
    """An address whose offsets reach all that it means, where the tensor may be too large for them.

    A program's first row is then a number that is added to the pointer, but not where a loop moves
    it, as with the variables that are `moving`. Raises UnsuitedError.
    """
    tensor = facts.tensors[address.tensor]
    size = bits(tensor.dtype) // 8
    extents = [range_of(one, known.ranges).high for one in tensor.shape]
    total = math.prod(one or MOST_BYTES for one in extents) * size
    if not tensor.strides and total < MOST_BYTES:
        return address
    base, offsets, reach = address.base, [], 0
    for term in _terms(address.offsets):
        if _is_column_index(term):
            offsets.append(term)
            continue
        row = _row(term)
        if row is None or names_in(row) & moving:
            raise UnsuitedError(f"`{address.tensor}` may be larger than 2 GiB, in which rows move")
        first, places = _parted(definitions[row.id])
        step, count = range_of(_step(term), known.ranges).high, _count(places, known)
        if step is None or count is None:
            raise UnsuitedError(f"how large `{address.tensor}` is, is known at the launch only")
        reach += step * count * size
        own = expr("p[:, None] * step", p=places, step=_step(term))
        offsets.append(own)
        for one in first:
            moved = expr("one.to(tl.int64) * step", one=one, step=_step(term))
            base = ast.BinOp(copy_tree(base), ast.Add(), moved)
    if reach >= MOST_BYTES:
        raise UnsuitedError(f"a tile of `{address.tensor}` is larger than 2 GiB")
    return Address(address.tensor, base, _sum(offsets))


def _parted(tree: ast.expr) -> tuple[list[ast.expr], ast.expr]:
    """The numbers of a sum, and the rest, which is `tl.arange`."""
    numbers = [one for one in _terms(tree) if not _arange(one)]
    places = [one for one in _terms(tree) if _arange(one)]
    if len(places) != 1 or len(numbers) > 1 or isinstance(places[0], ast.BinOp):
        raise UnsuitedError(f"`{ast.unparse(tree)}` is no row of neighbours")
    return numbers, places[0]


def _count(places: ast.expr, known: Environment) -> int | None:
    assert isinstance(places, ast.Call)
    return range_of(places.args[-1], known.ranges).high


def _terms(tree: ast.expr) -> Iterator[ast.expr]:
    match tree:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            yield from _terms(left)
            yield from _terms(right)
        case _:
            yield tree


def _expanded(term: ast.expr, definitions: dict[str, ast.expr]) -> Iterator[ast.expr]:
    """A tile of offsets that has a name is the sum that it was made of."""
    if isinstance(term, ast.Name) and term.id in definitions:
        for one in _terms(definitions[term.id]):
            yield from _expanded(one, definitions)
    else:
        yield term


def _sum(terms: list[ast.expr]) -> ast.expr:
    return functools.reduce(
        lambda a, b: ast.BinOp(a, ast.Add(), b), [copy_tree(one) for one in terms]
    )


def _arange(tree: ast.expr) -> bool:
    return any(isinstance(one, ast.Attribute) and one.attr == "arange" for one in walk(tree))


def _is_column_index(tree: ast.expr) -> bool:
    match tree:
        case ast.Subscript(
            value=ast.Name(), slice=ast.Tuple(elts=[ast.Constant(value=None), ast.Slice()])
        ):
            return True
    return False


def _row(tree: ast.expr) -> ast.Name | None:
    """The variable whose elements are rows, as in `x[:, None].to(tl.int64) * step`."""
    match tree:
        case ast.Subscript(
            value=ast.Name() as row,
            slice=ast.Tuple(elts=[ast.Slice(), ast.Constant(value=None)]),
        ):
            return row
        case ast.Call(func=ast.Attribute(value=inner, attr="to")):
            return _row(inner)
        case ast.BinOp(left=ast.Subscript() | ast.Call() as inner, op=ast.Mult()):
            return _row(inner)
    return None


def _step(tree: ast.expr) -> ast.expr:
    return tree.right if isinstance(tree, ast.BinOp) else expr("1")


def _column_edges(mask: ast.expr) -> Iterator[ast.expr]:
    """What the index of a column is compared with."""
    for node in walk(mask):
        match node:
            case ast.Compare(left=left, comparators=[edge]) if any(
                isinstance(one, ast.expr) and _is_column_index(one) for one in walk(left)
            ):
                yield edge
