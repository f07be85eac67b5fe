"""Outputs of types that no Triton tile has: the launcher makes them, and nothing uses them."""

from __future__ import annotations

import ast
from typing import Any

from rewrites.facts import Facts
from rewrites.tree import walk
from tile2triton.diagnostics import TileError, at_node
from tile2triton.frontend.dtypes import DType, dtype_name
from tile2triton.frontend.failures import failure
from tile2triton.frontend.foreign_dtypes import foreign_bits, foreign_torch


def output_dtype(value: Any) -> DType:
    """The element type of an output; an error where neither Triton nor torch has it."""
    dtype = DType(value)
    return dtype if foreign_torch(str(dtype)) else DType(dtype_name(value))


def stored_as(shape: tuple[Any, ...], dtype: DType) -> tuple[tuple[Any, ...], str, tuple[str, ...]]:
    """The shape and type of a tensor as it lies in memory, and what torch calls the type."""
    made_as = foreign_torch(str(dtype))
    bits = foreign_bits(str(dtype))
    if not made_as or bits is None:
        return shape, str(dtype), ()
    # Elements of less than a byte lie side by side along the last dimension.
    together = max(1, 8 // bits)
    last = shape[-1] if shape else 1
    if together > 1 and isinstance(last, int) and last % together:
        raise failure(
            "T2T550",
            f"a tensor of {dtype} has {together} elements in a byte, but its last dimension has "
            f"{int(last)} elements",
            hint=f"make it a multiple of {together}",
        )
    if together > 1:
        shape = (*shape[:-1], (last + (together - 1)) // together)
    return shape, "int8", made_as


def refuse_uses(tree: ast.AST, facts: Facts) -> None:
    """Elements of such outputs cannot be written or read."""
    names = {one.name for one in facts.tensors.values() if one.made_as}
    names |= {one.name for one in facts.tensors.values() if one.base in names}
    for node in walk(tree) if names else ():
        if isinstance(node, ast.Name) and node.id in names:
            found = facts.tensors[node.id].made_as
            raise TileError(
                at_node(
                    node,
                    facts.filename,
                    "T2T605",
                    f"Triton has no tiles of what `{node.id}` holds, which torch stores as "
                    f"{found[0] if found else 'packed bits'}",
                    hint="keep the bits in a tensor of uint8 or int8 and pack them with shifts",
                )
            )
