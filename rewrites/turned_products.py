"""Which GEMMs are made as (bᵀ aᵀ)ᵀ, since ptxas may lose the address of their second factor.

Hopper's instructions for 64 rows and more read factors from shared memory. Where a computed second
factor of fewer than 64 columns lies where another factor lay before, ptxas 12.8 may read a register
that nothing wrote (`known_miscompiles.py`). Fewer rows than 64 use the older instructions.
"""

import ast
from dataclasses import dataclass

from rewrites.dtypes import bits
from rewrites.environment import lengths
from rewrites.facts import Facts
from rewrites.tree import base_name, walk

# Rows that one instruction of a group of four warps computes; columns with a layout of their own.
GROUP_ROWS = 64
WIDE_COLUMNS = 64


@dataclass(frozen=True)
class _Product:
    """A GEMM of whole matrices: its second factor, and the padded rows of its result."""

    call: ast.Call
    second: str
    rows: int


def turned_products(function: ast.FunctionDef, facts: Facts) -> frozenset[int]:
    """The calls to turn, by `id`."""
    if facts.target != "cuda:90":
        return frozenset()
    computed = _computed(function, facts)
    products = [made for node in walk(function) if (made := _product(node, facts)) is not None]
    return frozenset(id(one.call) for one in products if _is_turned(one, computed, facts))


def _is_turned(product: _Product, computed: set[str], facts: Facts) -> bool:
    second = facts.tiles[product.second]
    is_narrow = lengths(second)[1] < WIDE_COLUMNS and bits(second.dtype) == 16
    return product.rows >= GROUP_ROWS and is_narrow and product.second in computed


def _computed(function: ast.FunctionDef, facts: Facts) -> set[str]:
    """The tiles that hold something else than what was copied from a tensor."""
    found: set[str] = set()
    for node in walk(function):
        match node:
            case ast.Assign(targets=[ast.Subscript() as target]) | ast.AugAssign(target=target):
                found.add(base_name(target) or "")
            case ast.Call(func=ast.Attribute(attr=called)) if called in facts.operators:
                operator = facts.operators[called]
                arguments = operator.arguments(node)
                written, source = arguments.get(operator.writes), arguments.get("src")
                if written is not None and not (source and base_name(source) in facts.tensors):
                    found.add(base_name(written) or "")
    return found


def _product(node: ast.AST, facts: Facts) -> _Product | None:
    match node:
        case ast.Call(func=ast.Attribute(attr="gemm")):
            sides = facts.operators["gemm"].arguments(node)
            names = [side.id for key in "ABC" if isinstance(side := sides[key], ast.Name)]
            if len(names) == 3 and all(facts.tiles[name].rank == 2 for name in names):
                return _Product(node, names[1], lengths(facts.tiles[names[2]])[0])
    return None
