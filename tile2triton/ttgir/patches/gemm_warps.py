"""How the warps of a program share out the result of one product: `{"policy": "FullRow"}`.

Triton chooses for itself, and for a product whose result is an operand of another one it always
takes rows.
"""

import math
import re

from ..listing import Listing, shape_of
from ..patching import Chip, Edit, Kind, Module, RefusedError, Request, Site, expect
from ..products import PRODUCTS, layout_meaning, set_layout

POLICIES = ("FullRow", "FullCol", "Square")
_WARPS = re.compile(r"warpsPerCTA = \[(\d+), (\d+)\]")
_SHAPE = re.compile(r"instrShape = \[(\d+), (\d+)(, \d+)?\]")
# wgmma is run by four warps that share out 64 rows.
_WARP_GROUP = 4


def edits(request: Request, chip: Chip) -> tuple[Edit, ...]:
    """One layout a policy and product; the conversions around the product get it, too."""
    policy = request.arguments.get("policy")
    if policy not in POLICIES:
        raise RefusedError(f"a policy is one of {', '.join(POLICIES)}, found {policy!r}")
    if chip.generation >= 10:
        raise RefusedError(f"one warp starts a product for the whole program on {chip}")

    def run(module: Module, site: Site) -> str:
        listing = Listing(module)
        found = listing.operations(PRODUCTS, request.anchor)
        wanted = site.count("dot", request.anchor)
        expect(len(found), wanted, f"products `{request.anchor}` on matrix units")
        for index in found:
            _share_out(listing, index, policy)
        return str(listing)

    return (Edit("after:add_accelerate_matmul", run),)


def warps(
    policy: str, shape: tuple[int, int], least: tuple[int, int], count: int, group: int = 1
) -> tuple[int, int]:
    """How many of `count` warps share out rows and columns; both are powers of two.

    No warp gets less than `least` rows and columns, where there are enough; rows are shared out by
    groups of `group` warps.
    """
    choices = [(rows, count // rows) for rows in (2**n for n in range(count.bit_length()))]
    legal = [choice for choice in choices if choice[0] % group == 0]
    fitting = [
        choice
        for choice in legal
        if all(
            extent >= number * size
            for extent, number, size in zip(shape, choice, least, strict=True)
        )
    ]
    if not fitting:
        raise RefusedError(
            f"{count} warps cannot share out {shape[0]}x{shape[1]} in parts of at least "
            f"{least[0]}x{least[1]}"
        )
    if policy == "Square":
        return min(fitting, key=lambda c: abs(math.log2(shape[0] / c[0] * c[1] / shape[1])))
    return max(fitting, key=lambda choice: choice[0] if policy == "FullRow" else choice[1])


def _share_out(listing: Listing, index: int, policy: str) -> None:
    meaning, shape = layout_meaning(listing, index), shape_of(listing[index])
    found, unit = _WARPS.search(meaning), _SHAPE.search(meaning)
    if found is None or unit is None or len(shape) != 2:
        raise RefusedError("the product is of more than two dimensions")
    is_wgmma = "versionMajor = 3" in meaning
    count = int(found[1]) * int(found[2])
    # The narrowest wgmma has eight columns; other units have one size.
    least = (16, 8) if is_wgmma else (int(unit[1]), int(unit[2]))
    rows, columns = warps(
        policy, (shape[0], shape[1]), least, count, _WARP_GROUP if is_wgmma else 1
    )
    meaning = _WARPS.sub(f"warpsPerCTA = [{rows}, {columns}]", meaning)
    if is_wgmma:
        width = min(int(unit[2]), shape[1] // columns)
        meaning = _SHAPE.sub(rf"instrShape = [\1, {width}\3]", meaning)
    set_layout(listing, index, meaning)


GEMM_WARPS = Kind(name="gemm_warps", arguments=("policy",), edits=edits)
