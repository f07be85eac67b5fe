"""Operands of products that Hopper's wgmma cannot read as they lie: patched without being asked.

It reads elements of 8 and 32 bits along the summed dimension only. Others it takes turned round,
through registers, for which Triton's own layout is slow.
"""

import ast
from collections.abc import Iterator

from rewrites.dtypes import bits
from rewrites.facts import Facts, Patch
from tile2triton.hints.anchors import Anchor, anchors_of, product_calls
from tile2triton.targets import target

KIND = "turned_operand"
# Products of fewer rows, or warps, are made by mma.sync.
_ROWS, _WARPS = 64, 4


def turned_operands(kernel: ast.FunctionDef, warps: int, facts: Facts) -> Iterator[Patch]:
    """A patch for each variable of the kernel that holds such an operand."""
    goal = target(facts.target)
    if goal.backend != "cuda" or goal.arch != 90 or warps % _WARPS:
        return
    loaded = anchors_of(kernel)
    found = dict.fromkeys(_turned(kernel, facts))
    for anchor in found:
        if any(_passes_registers(one) for one in loaded.get(anchor, ())):
            yield Patch(KIND, anchor, kernel.name, construct="", line=0)


def _passes_registers(one: Anchor) -> bool:
    """Whether it is loaded ahead to shared memory, from where it can be turned round."""
    return one.runs_ahead if one.kind == "load" else one.kind == "descriptor" and bool(one.loop)


def _turned(kernel: ast.FunctionDef, facts: Facts) -> Iterator[str]:
    """The operands that do not lie along the summed dimension, as the kernel's text says."""
    for call in product_calls(kernel):
        match call.args:
            case [a, b, *_]:
                rows = _of_transposed(a)
                if rows is not None and _is_wide(rows, 1, facts):
                    yield rows
                first = rows or _name(a)
                if isinstance(b, ast.Name) and _is_wide(b.id, None, facts):
                    if first is None or _is_wide(first, 1 if rows else 0, facts):
                        yield b.id


def _name(tree: ast.expr) -> str | None:
    return tree.id if isinstance(tree, ast.Name) else None


def _of_transposed(tree: ast.expr) -> str | None:
    """`x` of `tl.trans(x)`."""
    match tree:
        case ast.Call(func=ast.Attribute(attr="trans"), args=[ast.Name(id=name)]):
            return name
    return None


def _is_wide(name: str, rows: int | None, facts: Facts) -> bool:
    """Whether a tile's elements have 8 or 32 bits, and it has rows enough along axis `rows`."""
    tile = facts.tiles.get(name)
    if tile is None or tile.rank < 2 or bits(tile.dtype) not in (8, 32):
        return False
    return rows is None or tile.shape[-2:][rows] >= _ROWS
