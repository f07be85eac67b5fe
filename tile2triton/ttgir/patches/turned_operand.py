"""The registers in which an operand of wgmma is turned round, in Triton's own way between memories.

Hopper's wgmma reads elements of 8 and 32 bits along the summed dimension only. An operand that lies
the other way and comes by TMA, Triton loads from shared memory and stores turned round, in
registers as they are best for the load: half of a warp's stores, or more, meet in one bank. Here
both are weighed. One that comes by pointers, it copies to where each element belongs, four bytes at
once, or not ahead at all where elements are smaller; here it goes the same way through registers.

`{}` searches for the registers; `{"registers": …, "lanes": …, "warps": …}` gives them, as the rows
and columns that their bits count, in a row: (0, 1, 0, 2) are two bits that count columns.
"""

from collections.abc import Iterator
from functools import partial

from ...layouts.between import best_passage, traffic
from ...layouts.errors import LayoutError
from ...layouts.generic_linear import GenericLinear
from ...layouts.linear import Bases
from ...layouts.reading import encoding_in
from ...layouts.writing import written
from ...ttgir_text.module import Module as Text
from ...ttgir_text.module import Operation, read_module
from ...ttgir_text.tensor_types import TensorType, alias_of
from ..parted_loads import part_loads
from ..patching import Chip, Edit, Kind, Module, RefusedError, Request, Site, expect

_ALIAS = "#turned_operand"
_INPUTS = ("registers", "lanes", "warps")
# Elements that wgmma reads along one dimension only.
_BITS = {"f32": 32, "f8E4M3FN": 8, "f8E5M2": 8, "i8": 8}


def edits(request: Request, chip: Chip) -> tuple[Edit, ...]:
    """Give the tile in registers between the two memories another layout."""
    given = _given(request)

    def run(module: Module, site: Site) -> str | None:
        return relaid(str(module), request.anchor, site.count("load", request.anchor), given)

    return (
        Edit("before:add_assign_latencies", partial(part_loads, request.anchor, chip.num_warps)),
        Edit("after:add_pipeline", run),
    )


def _given(request: Request) -> GenericLinear | None:
    """The registers that the request gives, if it does."""
    if not request.arguments:
        return None
    bases: list[Bases] = []
    for key in _INPUTS:
        flat = request.arguments.get(key)
        if not isinstance(flat, (tuple, list)) or len(flat) % 2:
            raise RefusedError(f"`{key}` are rows and columns in a row, found {flat!r}")
        bases.append(tuple(zip(flat[::2], flat[1::2], strict=True)))
    return GenericLinear(*bases)


def relaid(text: str, anchor: str, loads: int, given: GenericLinear | None = None) -> str:
    """The module's text with the `given`, or better, registers for each of the variable's loads.

    Raises RefusedError where a load is not followed by a store that turns it, or where Triton's own
    registers cost as little.
    """
    module = read_module(text)
    turns = list(_turns(module, anchor))
    expect(len(turns), loads, f"loads of `{anchor}` that are turned round in registers")
    lines = text.split("\n")
    definitions: dict[str, str] = {}
    for first, *between, last in turns:
        layout = written(given or _better(module, first, last, is_parted=bool(between)))
        alias = definitions.setdefault(layout, f"{_ALIAS}_{anchor}_{len(definitions)}")
        # Of the load it is the last type, of the store the first one, of a conversion both.
        for one in (first, *between):
            before, arrow, made = lines[one.line - 1].rpartition(" -> ")
            own = f"#{alias_of(one.types[-1])}>"
            lines[one.line - 1] = before + arrow + _replaced(made, own, alias)
        for one in (*between, last):
            taken, arrow, after = lines[one.line - 1].partition(" -> ")
            own = f"#{alias_of(one.types[0])}>"
            lines[one.line - 1] = _replaced(taken, own, alias) + arrow + after
    return "\n".join([*(f"{alias} = {layout}" for layout, alias in definitions.items()), *lines])


def _turns(module: Text, anchor: str) -> Iterator[list[Operation]]:
    """The variable's loads from shared memory that are only stored there again, with the store."""
    for load in module.operations:
        if load.name != "ttg.local_load" or load.variable != anchor:
            continue
        way = [load]
        while len(users := _users(module, way[-1])) == 1:
            way += users
            if way[-1].name == "ttg.local_alloc":
                yield way
            if way[-1].name != "ttg.convert_layout":
                break


def _users(module: Text, operation: Operation) -> list[Operation]:
    return [one for one in module.operations if operation.results[0] in one.operands]


def _better(module: Text, load: Operation, store: Operation, is_parted: bool) -> GenericLinear:
    source, tile = load.types[0], load.types[-1]
    target = store.types[-1]
    if not (isinstance(tile, TensorType) and tile.element in _BITS):
        raise RefusedError(f"wgmma reads {tile.element} as it lies")
    width = _BITS[tile.element]
    try:
        first, second = (encoding_in(module, one).linear(tile.shape) for one in (source, target))
        registers = encoding_in(module, tile).linear(tile.shape)
        own = [traffic(registers, memory, width).wavefronts for memory in (first, second)]
        found = best_passage(first, second, width, module.warps)
    except LayoutError as error:
        raise RefusedError(f"its layouts are not known: {error}") from error
    if found is None or (found.cost[0] >= sum(own) and not is_parted):
        raise RefusedError("Triton's own registers cost as little")
    return found.registers


def _replaced(text: str, own: str, alias: str) -> str:
    """The text with another layout in the place of its only one in registers."""
    expect(text.count(own), 1, f"types with the layout {own[:-1]}")
    return text.replace(own, f"{alias}>")


TURNED_OPERAND = Kind(name="turned_operand", arguments=_INPUTS, edits=edits)
