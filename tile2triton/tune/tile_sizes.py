"""The constants of a tile program that are sizes of tiles, and the values that they may have."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from dataclasses import dataclass

from rewrites.dtypes import bits
from rewrites.environment import next_power_of_two
from rewrites.facts import Facts, Program
from rewrites.ranges import Range, range_of
from rewrites.tree import base_name, function_of, names_in, walk
from tile2triton.targets import target

# The sides of products: tensor cores take no shorter ones, and no registers hold longer ones.
SHORTEST, LONGEST = 16, 256
# Beyond so many bytes, a longer row of a tile brings nothing more in one turn of a loop.
ROW_BYTES = 256
# How far from the usual value the others are, and the most elements along one side.
FACTOR, MOST = 16, 65536


@dataclass(frozen=True)
class TileSize:
    """A constant that is an extent of tiles; `usual` is its value where nothing is said."""

    constant: str
    usual: int
    values: tuple[int, ...]


def tile_sizes(program: Program) -> tuple[TileSize, ...]:
    """Each size of tiles, in the order of the program's constants.

    It is a constant that stands in the extents of tiles, or of loops over lanes, and in no extent
    of a tensor.
    """
    facts = program.facts
    sizes = {
        name
        for tensor in facts.tensors.values()
        for tree in tensor.shape
        for name in names_in(tree)
    }
    found = {
        name for tile in facts.tiles.values() for tree in tile.trees for name in names_in(tree)
    }
    found |= {name for extent in _lane_extents(program) for name in names_in(extent)}
    contracted, sides = _of_products(program)
    extents = _extents(program)
    made = []
    for name, value in facts.constants.items():
        if name not in found - sizes or not isinstance(value, int) or isinstance(value, bool):
            continue
        if value < 1 or value & (value - 1):
            continue
        least, most = _bounds(name, value, contracted, sides, facts)
        if name in extents:
            most = min(most, max(next_power_of_two(extents[name]), least))
        values = [1 << power for power in range(MOST.bit_length()) if least <= 1 << power <= most]
        made.append(TileSize(name, value, tuple(sorted({*values, value}))))
    return tuple(made)


def _bounds(
    name: str, value: int, contracted: dict[str, int], sides: set[str], facts: Facts
) -> tuple[int, int]:
    if name in sides:
        return SHORTEST, LONGEST
    if name in contracted:
        own = contracted[name]
        least = max(SHORTEST, target(facts.target).least_dot_k(own))
        return least, max(least, ROW_BYTES * 8 // own)
    return max(1, value // FACTOR), min(MOST, value * FACTOR)


def _lane_extents(program: Program) -> Iterator[ast.expr]:
    for node in walk(function_of(program.tree)):
        match node:
            case ast.For(iter=ast.Call(func=ast.Attribute(attr="Parallel"), args=extents)):
                yield from extents


def _of_products(program: Program) -> tuple[dict[str, int], set[str]]:
    """What products sum over, with the bits of their factors; the rows and columns they make."""
    facts = program.facts
    contracted: dict[str, int] = {}
    sides: set[str] = set()
    for node in walk(function_of(program.tree)):
        match node:
            case ast.Call(func=ast.Attribute(attr="gemm")):
                given = facts.operators["gemm"].arguments(node)
                tiles = {key: facts.tiles.get(base_name(given[key]) or "") for key in "ABC"}
                made, left = tiles["C"], tiles["A"]
                if made is not None:
                    sides |= {one for tree in made.trees for one in names_in(tree)}
                if left is not None and left.rank >= 2:
                    turned = _is_set(given["transpose_A"])
                    inner = left.trees[-2] if turned else left.trees[-1]
                    for one in names_in(inner):
                        contracted[one] = min(bits(left.dtype), contracted.get(one, 64))
    return contracted, sides


def _extents(program: Program) -> dict[str, int]:
    """What tiles of a constant's size share out: `extent` in `T.ceildiv(extent, constant)`."""
    numbers = numbers_of(program.facts)
    found: dict[str, int] = {}
    for node in walk(function_of(program.tree)):
        match node:
            case ast.Call(func=ast.Attribute(attr="ceildiv"), args=[extent, ast.Name(id=name)]):
                value = range_of(extent, numbers).high
                if value is not None:
                    found[name] = max(value, found.get(name, 0))
    return found


def programs_of(program: Program) -> int:
    """How many programs the largest of its grids has, as far as that is known."""
    numbers = numbers_of(program.facts)
    most = 1
    for statement in function_of(program.tree).body:
        match statement:
            case ast.With(items=[ast.withitem(context_expr=ast.Call(args=extents))]):
                sizes = [range_of(extent, numbers).high or 1 for extent in extents]
                most = max(most, math.prod(sizes))
    return most


def numbers_of(facts: Facts) -> dict[str, Range]:
    """The whole numbers among a program's constants."""
    return {
        name: Range(value, value)
        for name, value in facts.constants.items()
        if isinstance(value, int)
    }


def _is_set(flag: ast.expr) -> bool:
    return isinstance(flag, ast.Constant) and bool(flag.value)
