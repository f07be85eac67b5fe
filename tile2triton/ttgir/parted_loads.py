"""Loads by pointers that are kept apart from the memory in which they are stored turned round.

What a load and the memory behind it have in common, Triton takes for one and the same: it copies
each element to its place there. With a conversion of layouts between them it copies rows as they
are ahead, and turns them round by way of registers.
"""

from ..ttgir_text.locations import without_location
from ..ttgir_text.operations import OperationText
from ..ttgir_text.tensor_types import alias_of
from .listing import Listing
from .patching import Module, Site

# Any layout along columns: what it is to be is found when there are two memories.
_COLUMNS = (
    "#ttg.blocked<{{sizePerThread = [1, 1], threadsPerWarp = [32, 1], "
    "warpsPerCTA = [1, {warps}], order = [0, 1]}}>"
)


def part_loads(anchor: str, warps: int, module: Module, site: Site) -> str | None:
    """The module's text with a conversion behind each load of a variable that is turned round."""
    listing = Listing(module)
    layout = ""
    # From the last one up, so that the lines before it keep their numbers.
    for index in reversed(listing.operations(("tt.load",), anchor)):
        readers = list(listing.readers(index))
        if len(readers) == 1 and _turns(listing, listing[readers[0]]):
            layout = layout or listing.define("columns", _COLUMNS.format(warps=warps))
            _convert(listing, readers[0], layout)
    return str(listing) if layout else None


def _turns(listing: Listing, store: OperationText) -> bool:
    """Whether its registers lie along rows, and its memory along columns."""
    if store.name != "ttg.local_alloc" or len(store.types) != 2:
        return False
    registers, memory = (listing.alias(f"#{alias_of(type_)}") for type_ in store.types)
    return "order = [1, 0]" in registers and "transposed = true" in memory


def _convert(listing: Listing, index: int, layout: str) -> None:
    """Put a conversion of layouts in front of a store."""
    line, store = listing.lines[index], listing[index]
    (source,), tensor = store.operands, store.types[0]
    own, name = f"#{alias_of(tensor)}", f"{store.results[0]}_through"
    type_ = store.text.partition(" : (")[2].partition(") -> ")[0]
    start, end = len(line) - len(line.lstrip()), len(without_location(line)[0])
    listing.set_layout(index, tensor, own, layout)
    listing.lines[index] = listing.lines[index].replace(f"alloc {source} ", f"alloc {name} ", 1)
    converted = f"{type_} -> {type_.replace(own, layout)}"
    made = f"{line[:start]}{name} = ttg.convert_layout {source} : {converted}{line[end:]}"
    listing.lines.insert(index, made)
