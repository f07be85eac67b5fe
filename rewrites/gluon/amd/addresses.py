"""Where pointers load and store tiles: a number added to the pointer, and offsets of 32 bits."""

import ast
import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass

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
    if len(columns) != 1 or not rows or not all(map(_is_row_index, rows)):
        raise UnsuitedError(f"`{text}` does not go along rows")
    steps = [known.divisor(_step(one)) for one in rows]
    (column,) = (one for one in walk(columns[0]) if isinstance(one, ast.Name))
    starts = [known.divisor(one) for one in _terms(definitions[column.id]) if not _arange(one)]
    if isinstance(address.base, ast.BinOp):
        starts += [known.divisor(one) for one in _terms(address.base.right)]
    edges = [] if mask is None else [known.divisor(one) for one in _column_edges(mask)]
    if math.gcd(*steps, *starts, *edges) % VECTOR:
        raise UnsuitedError(f"rows of `{address.tensor}` are no multiples of 16 bytes")


def require_near(tensor: str, facts: Facts, known: Environment, size: int) -> None:
    """Let all of a tensor be in the reach of offsets."""
    total = size
    for extent in facts.tensors[tensor].shape:
        high = range_of(extent, known.ranges).high
        if high is None:
            raise UnsuitedError(f"how large `{tensor}` is, is known at the launch only")
        total *= high
    if facts.tensors[tensor].strides or total >= MOST_BYTES:
        raise UnsuitedError(f"`{tensor}` may be larger than 2 GiB, or has strides")


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


def _is_row_index(tree: ast.expr) -> bool:
    match tree:
        case ast.Subscript(slice=ast.Tuple(elts=[ast.Slice(), ast.Constant(value=None)])):
            return True
        case ast.BinOp(left=ast.Subscript() as one, op=ast.Mult()):
            return _is_row_index(one)
    return False


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
