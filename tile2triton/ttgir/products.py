"""One product in a module's text, behind `accelerate_matmul`: it and the conversions around it.

There each product on matrix units stands between conversions of its own, into its layout and out of
it, so that its layout may differ from that of others.
"""

from .listing import Listing, layout_of
from .patching import RefusedError

PRODUCTS = ("tt.dot", "ttng.warp_group_dot")
_CONVERSION = "ttg.convert_layout"


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
    """The lines that bring the operands into the product's layout, and its result out of it."""
    found = []
    for value in listing[index].operands[:3]:
        source = listing.definition(value, index)
        if source is not None and listing[source].name == _CONVERSION:
            if list(listing.readers(source)) != [index]:
                raise RefusedError("an operand's conversion is read by more than the product")
            found.append(source)
    for reader in listing.readers(index):
        if listing[reader].name != _CONVERSION:
            raise RefusedError("the result is read by more than conversions")
        found.append(reader)
    return found
