"""How the warps of a program share a product out: what a policy asks for, and what Triton does.

FullRow gives each warp whole rows of the product, FullCol whole columns, Square is the default.
"""

import ast

from rewrites.environment import lengths
from rewrites.facts import Claim, Facts, Launch, Tile
from rewrites.hint_notes import Settled
from tile2triton.hints.anchors import chained_with, is_multiplied, products_in
from tile2triton.hints.mfma_shape import OPTION
from tile2triton.layouts.warp_policy import (
    NVIDIA_PART,
    WGMMA_GROUP,
    made_by_groups,
    runs_on_groups,
    shared_out,
    too_many,
)
from tile2triton.patch_targets import refusal
from tile2triton.targets import Target, target

Warps = tuple[int, int]
Shape = tuple[int, int]

_ROWS, _COLUMNS = NVIDIA_PART
# What units from Hopper on do not multiply, and older ones do.
WIDE, _WIDE_PART = "float64", (8, 8)
# What a policy is of the transpose.
EXCHANGED = {"FullRow": "FullCol", "FullCol": "FullRow"}
# The rows and columns of AMD's matrix instructions, and of those for smaller products.
_AMD_SIZE, _SMALL_AMD_SIZE = 32, 16


def settle_policy(
    policy: str,
    anchor: str,
    is_turned: bool,
    kernel: ast.FunctionDef,
    launch: Launch,
    facts: Facts,
) -> Settled:
    """Whether Triton shares the product out so anyway, nothing can, or a patch does; and how.

    `is_turned` says that the transpose is computed, of which `policy` is then meant.
    """
    goal, warps = target(facts.target), launch.num_warps
    tile = facts.tiles.get(anchor)
    if tile is None or tile.rank < 2:
        return Settled("none", f"`{anchor}` is no tile that Triton multiplies into by itself")
    height, width = _lengths(tile)
    shape = (width, height) if is_turned else (height, width)
    what = f"the transpose of `{anchor}`" if is_turned else f"`{anchor}`"
    reason = refusal("gemm_warps", goal, {})
    if reason and tile.dtype == WIDE:
        reason = f"no patch shares products of {WIDE} out on {goal.label}"
    if reason:
        return Settled("none", reason)
    if warps == 1:
        return Settled("native", "the program has one warp")
    has_groups = goal.name == "cuda:90" and _has_groups(tile, shape, warps, kernel, facts)
    part = _amd_part(shape, launch)
    if goal.backend == "cuda":
        part = _WIDE_PART if tile.dtype == WIDE else NVIDIA_PART
    wanted = shared_out(policy, shape, part, warps, WGMMA_GROUP if has_groups else 1)
    if wanted is None:
        return Settled("none", too_many(shape, part, warps))
    if has_groups:
        made = {(warps, 1) if is_multiplied(kernel, anchor) else made_by_groups(shape, warps)}
    else:
        made = _made(facts, goal, shape, warps, kernel, anchor)
    claim = Claim("warps", wanted)
    rows, columns = wanted
    if made == {wanted}:
        said = f"Triton gives its {warps} warps {rows} by {columns} parts of {what} by itself"
        return Settled("native", said, claim)
    return Settled("patch", "", claim)


def _amd_part(shape: Shape, launch: Launch) -> Shape:
    """What one matrix instruction computes, which is a warp's least part."""
    own = _AMD_SIZE if min(shape) >= _AMD_SIZE else _SMALL_AMD_SIZE
    size = launch.options.get(OPTION, own)
    return size, size


def _lengths(tile: Tile) -> Shape:
    """Rows and columns as Triton has them: powers of two."""
    height, width = lengths(tile)[-2:]
    return height, width


def _has_groups(
    tile: Tile, shape: Shape, warps: int, kernel: ast.FunctionDef, facts: Facts
) -> bool:
    """Whether Hopper's wgmma multiplies."""
    is_older = ("mma_version", kernel.name) in {(one.kind, one.kernel) for one in facts.patches}
    return runs_on_groups(shape, warps) and tile.dtype != WIDE and not is_older


def _fitting(parts: int, warps: int) -> int:
    """The most warps, a power of two, that have a part each."""
    count = 1
    while count * 2 <= min(parts, warps):
        count *= 2
    return count


def _made(
    facts: Facts, goal: Target, shape: Shape, warps: int, kernel: ast.FunctionDef, anchor: str
) -> set[Warps]:
    """What Triton may do elsewhere; more than one where that is not certain from here."""
    rows, columns = (warps, 1), (1, warps)
    if goal.backend == "hip":
        if is_multiplied(kernel, anchor):
            return {rows}
        # What multiplies a product has as many rows of matrix instructions as there are.
        parts = _fitting(shape[0] // _AMD_SIZE, warps)
        return {(parts, warps // parts)} if chained_with(kernel, anchor) else {rows, columns}
    # Products of a chain have one layout, which is that of any of them.
    others = chained_with(kernel, anchor)
    tiles = [facts.tiles[name] for name in others if name in facts.tiles]
    shapes = [shape, *(_lengths(tile) for tile in tiles if tile.rank > 1)]
    chained = {rows if height >= width else columns for height, width in shapes}
    if others:
        return chained if len(shapes) > len(others) else {rows, columns}
    balanced = _balanced(shape, warps)
    return {balanced} if products_in(kernel) == 1 else {balanced, *chained}


def _balanced(shape: Shape, warps: int) -> Warps:
    """Triton's default under mma.sync: parts that are as square as can be."""
    parts = [-(-shape[0] // _ROWS), -(-shape[1] // _COLUMNS)]
    made = [1, 1]
    while made[0] * made[1] < warps:
        side = 0 if parts[0] >= parts[1] else 1
        made[side] *= 2
        if parts[side] != 1:
            parts[side] //= 2
    return made[0], made[1]
