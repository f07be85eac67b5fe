"""How large the tiles are that AMD's matrix cores compute at once, for one product: 16 or 32.

Triton has an option for all products of a kernel; `{"size": 16}` is for the product of a variable.
"""

import re

from ..listing import Listing, shape_of
from ..patching import Chip, Edit, Kind, Module, RefusedError, Request, Site, expect
from ..products import PRODUCTS, layout_meaning, set_layout

SIZES = (16, 32)
_SHAPE = re.compile(r"instrShape = \[(\d+), (\d+), (\d+)\]")


def edits(request: Request, chip: Chip) -> tuple[Edit, ...]:
    """Instructions of both sizes take as many elements of the operands at once."""
    size = request.arguments.get("size")
    if size not in SIZES:
        raise RefusedError(f"matrix cores compute tiles of 16x16 and 32x32, found {size!r}")

    def run(module: Module, site: Site) -> str:
        listing = Listing(module)
        found = listing.operations(PRODUCTS, request.anchor)
        wanted = site.count("dot", request.anchor)
        expect(len(found), wanted, f"products `{request.anchor}`")
        for index in found:
            meaning, extents = layout_meaning(listing, index), shape_of(listing[index])
            unit = _SHAPE.search(meaning)
            if unit is None or int(unit[1]) not in SIZES or unit[1] != unit[2]:
                raise RefusedError("the product is computed by instructions of another shape")
            if min(extents[-2:]) < size:
                raise RefusedError(f"the product has {extents[-2]}x{extents[-1]} elements")
            depth = int(unit[3]) * int(unit[1]) // size
            set_layout(
                listing, index, _SHAPE.sub(f"instrShape = [{size}, {size}, {depth}]", meaning)
            )
        return str(listing)

    return (Edit("after:add_accelerate_matmul", run),)


MFMA_SHAPE = Kind(name="mfma_shape", arguments=("size",), edits=edits)
