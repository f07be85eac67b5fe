"""Choose for each buffer of a kernel the layout that costs least, where Triton's own costs more."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from ..ttgir_text.module import Module, read_module
from ..ttgir_text.tensor_types import MemoryType
from .accesses import Access, accesses
from .cost import Cost, Part, cheapest
from .encoding import Encoding
from .reading import encoding_in
from .turning import turned

# Loops whose bounds are arguments are taken to be of so many trips.
ASSUMED_TRIPS = 16
# Operations that look at a buffer without moving its elements.
_VIEWS = (
    "ttg.memdesc_index",
    "ttg.memdesc_subslice",
    "ttg.memdesc_trans",
    "ttg.local_dealloc",
    "ttng.warp_group_dot_wait",
    "ttng.fence_async_shared",
    "scf.yield",
)


@dataclass(frozen=True)
class Choice:
    """A better layout for a buffer than its `own`; `heat` is bytes moved, times trips."""

    buffer: str
    value: str
    shape: tuple[int, ...]
    bits: int
    own: Encoding
    best: Encoding
    before: Cost
    after: Cost
    heat: int


def choose(text: str, target: str = "") -> list[Choice]:
    """Better layouts for the buffers of TTGIR, the hottest buffer first.

    Buffers whose own layout is best, or that something uses which is not known, are left out.
    Raises LayoutError where the text is no TTGIR, or the target has memory that is not known.
    """
    module = read_module(text)
    goal = target or module.target
    found = [
        choice
        for value, group in _buffers(module, goal).items()
        if (choice := _better(module, value, group, goal)) is not None
    ]
    return sorted(found, key=lambda choice: -choice.heat)


def _buffers(module: Module, target: str) -> dict[str, list[Access]]:
    """The accesses of each buffer that only what is known here uses."""
    groups: dict[str, list[Access]] = {}
    known: set[int] = set()
    for access in accesses(module, target):
        groups.setdefault(module.origin(access.value), []).append(access)
        known.add(access.operation.line)
    unknown = {
        module.origin(value)
        for operation in module.operations
        if operation.line not in known and operation.name not in _VIEWS
        for value in operation.operands
    }
    return {
        value: group
        for value, group in groups.items()
        if value not in unknown and all(access.use is not None for access in group)
    }


def _better(module: Module, value: str, group: list[Access], target: str) -> Choice | None:
    allocated = _allocated(module, value)
    if allocated is None:
        return None
    own = encoding_in(module, allocated)
    parts = list(_parts(own, group))
    if len(parts) != len(group):
        return None
    shape = allocated.shape[-2:]
    bits = parts[0].use.bits
    best, before, after = cheapest(own, parts, shape, bits, target)
    if best == own:
        return None
    return Choice(
        buffer=group[0].buffer,
        value=value,
        shape=shape,
        bits=bits,
        own=own,
        best=best,
        before=before,
        after=after,
        heat=sum(part.use.bytes * part.trips for part in parts),
    )


def _allocated(module: Module, value: str) -> MemoryType | None:
    for operation in module.operations:
        if value in operation.results and operation.name == "ttg.local_alloc":
            return next(type_ for type_ in operation.types if isinstance(type_, MemoryType))
    return None


def _parts(own: Encoding, group: list[Access]) -> Iterator[Part]:
    """The uses whose layout is the buffer's own, or that turned; others are left out."""
    for access in group:
        assert access.use is not None
        loops = access.operation.loops
        trips = prod(ASSUMED_TRIPS if loop.trips is None else loop.trips for loop in loops)
        if access.memory == own:
            yield Part(access.use, trips)
        elif len(access.memory_type.shape) == 2 and access.memory == turned(own):
            yield Part(access.use, trips, turned=True)
