"""Pictures of a kernel's layouts: the banks of each shared buffer, the owners of each product."""

from collections.abc import Iterator

from tile2triton.explaining.page.markup import Html, element
from tile2triton.explaining.tiles import PRODUCTS
from tile2triton.layouts.errors import LayoutError
from tile2triton.layouts.machines import banks
from tile2triton.layouts.pictures import banks_picture, owners_picture
from tile2triton.layouts.reading import encoding_in
from tile2triton.ttgir_text.module import Module, Operation, is_shared, read_module
from tile2triton.ttgir_text.tensor_types import MemoryType, TensorType, element_bits

# Rows and columns of cells: layouts repeat, and pages are to stay small.
_MOST = (16, 16)


def picture_groups(stock: str, patched: str) -> Iterator[Html]:
    """Pictures of two TTGIR texts, to be unfolded; of the second those that the first lacks."""
    shown: dict[str, str] = {}
    when = " without patches" if patched else ""
    for text, said in ((stock, when), (patched, " with patches")):
        made = dict(_pictures(read_module(text))) if text else {}
        new = [picture for key, picture in made.items() if shown.get(key) != picture]
        shown = made
        if new:
            yield element(
                "details",
                element("summary", f"Layouts{said}"),
                element("div", *map(Html, new), class_="pictures"),
            )


def _pictures(module: Module) -> Iterator[tuple[str, str]]:
    """Each picture by what it is of."""
    for operation in module.operations:
        name = operation.variable or next(iter(operation.results), "")
        for type_ in operation.types[-1:]:
            try:
                picture = _picture(module, operation, type_, name)
            except LayoutError as error:
                picture = element("p", f"{name} is not drawn: {error.diagnostics[0].message}.")
            if picture:
                yield f"{operation.name} {name} {type_.shape}", picture


def _picture(
    module: Module, operation: Operation, type_: MemoryType | TensorType, name: str
) -> str:
    if operation.name == "ttng.tc_gen5_mma":
        return element("p", f"{name} is in Blackwell's tensor memory, which is not drawn.")
    extents = " by ".join(map(str, type_.shape))
    if isinstance(type_, MemoryType):
        # Barriers are of one integer each.
        is_tile = operation.name == "ttg.local_alloc" and type_.element != "i64"
        if not is_tile or not is_shared(type_, module.written_aliases):
            return ""
        shape = _slot(module, type_)
        title = f"{name} in shared memory: {type_.element}, {extents}"
        bits = element_bits(type_.element)
        encoding = encoding_in(module, type_)
        return banks_picture(encoding, shape, bits, banks(module.target), title, _MOST)
    if operation.name.rpartition(".")[2] not in PRODUCTS:
        return ""
    title = f"{name} in registers: {type_.element}, {extents}"
    return owners_picture(encoding_in(module, type_), type_.shape, title, "lane", _MOST)


def _slot(module: Module, type_: MemoryType) -> tuple[int, ...]:
    """The extents of one buffer where several of them are a ring."""
    shapes = {
        one.shape
        for operation in module.operations
        for one in operation.types
        if isinstance(one, MemoryType) and one.encoding == type_.encoding
    }
    return type_.shape[1:] if type_.shape[1:] in shapes else type_.shape
