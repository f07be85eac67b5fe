"""One product in a module's text, behind `accelerate_matmul`: it and the conversions around it.

There each product on matrix units stands between conversions of its own, into its layout and out of
it, so that its layout may differ from that of others.
"""

from collections.abc import Iterator

from .listing import Listing, layout_of
from .patching import RefusedError

PRODUCTS = ("tt.dot", "ttng.warp_group_dot")
_CONVERSION = "ttg.convert_layout"
_CASTS = (
    "tt.fp_to_fp",
    "arith.extf",
    "arith.truncf",
    "arith.extsi",
    "arith.trunci",
    "arith.sitofp",
    "arith.fptosi",
)


def layout_meaning(listing: Listing, index: int) -> str:
    """What the layout of a product's result means; refuses where no matrix unit computes it."""
    name = layout_of(listing[index])
    meaning = listing.alias(name) if name else ""
    if "_mma<" not in meaning and "_mfma<" not in meaning:
        raise RefusedError("no matrix unit computes the product")
    return meaning


def set_layout(listing: Listing, index: int, meaning: str) -> None:
    """Give a product and the conversions around it another layout."""
    old = layout_of(listing[index])
    around = [index, *_conversions(listing, index)]
    new = listing.define("product", meaning)
    for each in around:
        listing.rename(each, old, new)


def _conversions(listing: Listing, index: int) -> list[int]:
    """The lines that bring the operands into the product's layout, and its result out of it.

    Between may stand casts: where a unit has no product of the elements' own type.
    """
    found: list[int] = []
    for value in listing[index].operands[:3]:
        reader, source = index, listing.definition(value, index)
        passed: list[int] = []
        while source is not None and listing[source].name in (*_CASTS, _CONVERSION):
            if list(listing.readers(source)) != [reader]:
                raise RefusedError("an operand's conversion is read by more than the product")
            passed.append(source)
            if listing[source].name == _CONVERSION:
                found += passed
                break
            reader, source = source, listing.definition(listing[source].operands[0], source)
    found += _conversions_behind(listing, index)
    return found


def _conversions_behind(listing: Listing, index: int) -> Iterator[int]:
    for reader in listing.readers(index):
        if listing[reader].name in _CASTS:
            yield from _conversions_behind(listing, reader)
        elif listing[reader].name != _CONVERSION:
            raise RefusedError("the result is read by more than conversions")
        yield reader
