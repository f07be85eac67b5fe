"""How large the tiles are that AMD's matrix cores compute at once, for one product of a kernel."""

import ast

from rewrites.environment import lengths
from rewrites.facts import Argument, Facts, Launch
from tile2triton.hints.anchors import products_in
from tile2triton.hints.launch_options import set_option
from tile2triton.patch_targets import refusal
from tile2triton.targets import target

OPTION = "matrix_instr_nonkdim"
SIZES = (16, 32)


def settle_size(
    size: Argument, anchor: str, kernel: ast.FunctionDef, launch: Launch, facts: Facts
) -> tuple[str, str]:
    """An option of the launch where that is of this product only, else a patch, or why neither."""
    reason = refusal("mfma_shape", target(facts.target), {})
    if reason:
        return "none", reason
    tile = facts.tiles.get(anchor)
    if not isinstance(size, int) or size not in SIZES:
        return "none", f"matrix cores compute tiles of 16 by 16 or 32 by 32, not {size!r}"
    if tile is None or tile.rank < 2:
        return "none", f"`{anchor}` is no tile that Triton multiplies into by itself"
    if min(lengths(tile)[-2:]) < size:
        rows, columns = lengths(tile)[-2:]
        return "none", f"the product has {rows} by {columns} elements"
    if products_in(kernel) == 1 and launch.options.get(OPTION, size) == size:
        return set_option(facts, launch, kernel, OPTION, size)
    return "patch", ""
