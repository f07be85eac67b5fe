"""Which GEMMs are made as (bᵀ aᵀ)ᵀ, since ptxas may lose the address of their second factor.

Hopper's instructions for 64 rows and more read factors from shared memory. Where a second factor of
fewer than 64 columns lies where a wider factor of another product lay before, ptxas 12.8 may read a
register that nothing wrote (`known_miscompiles.py`). Fewer rows than 64 use the older instructions.
"""

import ast
from dataclasses import dataclass

from rewrites.dtypes import bits
from rewrites.environment import lengths
from rewrites.facts import Facts
from rewrites.tree import base_name, walk

# Rows that one instruction of a group of four warps computes.
GROUP_ROWS = 64
# The bytes of rows in shared memory that are swizzled as one.
WIDE = 128


@dataclass(frozen=True)
class _Product:
    """A GEMM of whole matrices: its factors, and the padded rows of its result."""

    call: ast.Call
    first: str
    second: str
    rows: int
    is_first_turned: bool


def turned_products(function: ast.FunctionDef, facts: Facts) -> frozenset[int]:
    """The calls to turn, by `id`."""
    if facts.target != "cuda:90":
        return frozenset()
    turned: set[int] = set()
    for block in function.body:
        if isinstance(block, ast.With):
            turned |= _turned(block, facts)
    return frozenset(turned)


def _turned(block: ast.With, facts: Facts) -> set[int]:
    products = [made for node in walk(block) if (made := _product(node, facts)) is not None]
    _, computed = loaded_and_computed(block, facts)
    shared = {one.second for one in products}
    # A computed first factor stays in registers.
    shared |= {one.first for one in products if one.is_first_turned or one.first not in computed}
    widths = {_row_bytes(factor, facts) for factor in shared}
    if len(widths) < 2:
        return set()
    return {id(one.call) for one in products if _is_turned(one, facts)}


def _is_turned(product: _Product, facts: Facts) -> bool:
    is_16 = bits(facts.tiles[product.second].dtype) == 16
    return product.rows >= GROUP_ROWS and is_16 and _row_bytes(product.second, facts) < WIDE


def _row_bytes(factor: str, facts: Facts) -> int:
    """The bytes of a row, up to those from which on the layout in shared memory is the same."""
    tile = facts.tiles[factor]
    return min(WIDE, lengths(tile)[1] * bits(tile.dtype) // 8)


def loaded_and_computed(block: ast.With, facts: Facts) -> tuple[set[str], set[str]]:
    """Tiles that are copied from tensors, and those that get other values."""
    loaded: set[str] = set()
    computed: set[str] = set()
    for node in walk(block):
        match node:
            case ast.Assign(targets=[ast.Subscript() as target]) | ast.AugAssign(target=target):
                computed.add(base_name(target) or "")
            case ast.Call(func=ast.Attribute(attr=called)) if called in facts.operators:
                operator = facts.operators[called]
                arguments = operator.arguments(node)
                written, source = arguments.get(operator.writes), arguments.get("src")
                if written is not None:
                    is_load = source is not None and base_name(source) in facts.tensors
                    (loaded if is_load else computed).add(base_name(written) or "")
    return loaded, computed


def _product(node: ast.AST, facts: Facts) -> _Product | None:
    match node:
        case ast.Call(func=ast.Attribute(attr="gemm")):
            sides = facts.operators["gemm"].arguments(node)
            if base_name(sides["C"]) in facts.transposed_sums:
                return None
            names = [side.id for key in "ABC" if isinstance(side := sides[key], ast.Name)]
            if len(names) == 3 and all(facts.tiles[name].rank == 2 for name in names):
                flag = sides["transpose_A"]
                is_plain = isinstance(flag, ast.Constant) and not flag.value
                rows = lengths(facts.tiles[names[2]])[0]
                return _Product(node, names[0], names[1], rows, not is_plain)
    return None
