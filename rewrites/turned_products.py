"""Which GEMMs are made as (bᵀ aᵀ)ᵀ, so that their second factor is in shared memory once.

Hopper multiplies 64 rows and more by instructions that read shared memory, and fewer rows by older
ones that want another order of elements there: a tile that both read would be there twice.
"""

import ast
import math
from dataclasses import dataclass

from rewrites.dtypes import bits
from rewrites.environment import lengths
from rewrites.facts import Facts
from rewrites.tree import walk

# Rows that one instruction of a group of four warps computes.
GROUP_ROWS = 64


@dataclass(frozen=True)
class _Product:
    """A GEMM of whole matrices: its factors, and the padded sizes of its result."""

    call: ast.Call
    first: str
    second: str
    rows: int
    columns: int

    @property
    def has_few_rows(self) -> bool:
        return self.rows < GROUP_ROWS


def turned_products(function: ast.FunctionDef, facts: Facts) -> frozenset[int]:
    """The calls to turn, by `id`: where all factors would not fit into the target's memory else."""
    if facts.target != "cuda:90":
        return frozenset()
    turned: set[int] = set()
    for block in function.body:
        if isinstance(block, ast.With):
            turned |= _turned(block, facts)
    return frozenset(turned)


def _turned(block: ast.With, facts: Facts) -> set[int]:
    products = [made for node in walk(block) if (made := _product(node, facts)) is not None]
    grouped = {
        factor
        for product in products
        if not product.has_few_rows
        for factor in (product.first, product.second)
    }
    few = [one for one in products if one.has_few_rows and _can_turn(one, facts)]
    twice = {one.second for one in few} & grouped
    factors = {factor for one in products for factor in (one.first, one.second)}
    taken = sum(_bytes(name, facts) for name in (*factors, *twice))
    if taken <= facts.shared_memory:
        return set()
    return {id(one.call) for one in few if one.second in twice}


def _can_turn(product: _Product, facts: Facts) -> bool:
    """Whether the instructions take the second factor, turned, from shared memory."""
    return product.columns >= GROUP_ROWS and bits(facts.tiles[product.second].dtype) == 16


def _product(node: ast.AST, facts: Facts) -> _Product | None:
    match node:
        case ast.Call(func=ast.Attribute(attr="gemm")):
            sides = facts.operators["gemm"].arguments(node)
            names = [side.id for key in "ABC" if isinstance(side := sides[key], ast.Name)]
            if len(names) == 3 and all(facts.tiles[name].rank == 2 for name in names):
                rows, columns = lengths(facts.tiles[names[2]])
                return _Product(node, names[0], names[1], rows, columns)
    return None


def _bytes(name: str, facts: Facts) -> int:
    tile = facts.tiles[name]
    return math.prod(lengths(tile)) * bits(tile.dtype) // 8
