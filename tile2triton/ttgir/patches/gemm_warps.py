"""How the warps of a program share out the result of one product: `{"policy": "FullRow"}`.

Triton chooses for itself, and for a product whose result is an operand of another one it always
takes rows.
"""

import re

from ...layouts.warp_policy import NVIDIA_PART, POLICIES, WGMMA_GROUP, shared_out, too_many
from ..listing import Listing, shape_of
from ..patching import Chip, Edit, Kind, Module, RefusedError, Request, Site, expect
from ..products import PRODUCTS, layout_meaning, set_layout

_WARPS = re.compile(r"warpsPerCTA = \[(\d+), (\d+)\]")
_SHAPE = re.compile(r"instrShape = \[(\d+), (\d+)(, \d+)?\]")


def edits(request: Request, chip: Chip) -> tuple[Edit, ...]:
    """One layout a policy and product; the conversions around the product get it, too."""
    policy = request.arguments.get("policy")
    if policy not in POLICIES:
        raise RefusedError(f"a policy is one of {', '.join(POLICIES)}, found {policy!r}")

    def run(module: Module, site: Site) -> str:
        listing = Listing(module)
        found = listing.operations(PRODUCTS, request.anchor)
        wanted = site.count("dot", request.anchor)
        expect(len(found), wanted, f"products `{request.anchor}` on matrix units")
        for index in found:
            _share_out(listing, index, policy)
        return str(listing)

    return (Edit("after:add_accelerate_matmul", run),)


def _share_out(listing: Listing, index: int, policy: str) -> None:
    meaning, shape = layout_meaning(listing, index), shape_of(listing[index])
    found, unit = _WARPS.search(meaning), _SHAPE.search(meaning)
    if found is None or unit is None or len(shape) != 2:
        raise RefusedError("the product is of more than two dimensions")
    is_wgmma = "versionMajor = 3" in meaning
    count = int(found[1]) * int(found[2])
    part = NVIDIA_PART if is_wgmma else (int(unit[1]), int(unit[2]))
    extents = shape[0], shape[1]
    made = shared_out(policy, extents, part, count, WGMMA_GROUP if is_wgmma else 1)
    if made is None:
        raise RefusedError(too_many(extents, part, count))
    rows, columns = made
    meaning = _WARPS.sub(f"warpsPerCTA = [{rows}, {columns}]", meaning)
    if is_wgmma:
        width = min(int(unit[2]), shape[1] // columns)
        meaning = _SHAPE.sub(rf"instrShape = [\1, {width}\3]", meaning)
    set_layout(listing, index, meaning)


GEMM_WARPS = Kind(name="gemm_warps", arguments=("policy",), edits=edits)
