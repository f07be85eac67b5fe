"""Every access to shared memory in a TTGIR module: its buffer, instructions and wavefronts."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import prod

from . import machines
from .errors import LayoutError, layout_error
from .issues import Issues, copies, loads, stores
from .matrix_operands import Boxes, boxes, operand
from .nvidia_mma import NvidiaMma
from .parse import MemoryType, Module, Operation, TensorType
from .placement import Placement, place

_CONTIGUITY = re.compile(r"contiguity = (\d+)")
_AFTER_COORDINATES = re.compile(r"\]\s*(%[\w$.-]+(?:#\d+)?)")
_MOST_ELEMENTS = 16
_TENSOR_CORE = "ttng.tc_gen5_mma"
# What one instruction of wgmma or tcgen05 sums over.
_K_BYTES = 32


@dataclass(frozen=True)
class Access:
    """One operation on a buffer.

    `value` is its descriptor in the text. `tensor` is what is stored or loaded, where registers
    or lanes take part. `made` is None where the operation or its layout is not simulated, for the
    `reason` given.
    """

    buffer: str
    value: str
    operation: Operation
    memory_type: MemoryType
    tensor: TensorType | None
    made: Issues | Boxes | None
    reason: str = ""

    @property
    def trips(self) -> int | None:
        """How often a program does it; None where a loop's bounds are not constants."""
        trips = [loop.trips for loop in self.operation.loops]
        return None if None in trips else prod(trip for trip in trips if trip is not None)

    @property
    def bytes(self) -> int:
        return prod(self.memory_type.shape) * element_bits(self.memory_type.element) // 8


def accesses(module: Module, target: str = "") -> list[Access]:
    """The accesses in the order of the text; `target` is the module's own where it is empty."""
    reader = _Reader(module, target or module.target)
    return [access for operation in module.operations for access in reader.read(operation)]


def element_bits(element: str) -> int:
    """The bits of an element that is written `f16`, `i8`, `bf16`, `f8E4M3FN`."""
    match = re.match(r"(?:bf|f|i|tf)(\d+)", element)
    if match is None:
        raise layout_error("T2T929", "elements of a type that is not known here", element)
    return max(8, int(match[1]))


class _Reader:
    """Finds what operations access, each by the method that `_KINDS` has for its name."""

    def __init__(self, module: Module, target: str) -> None:
        self.module = module
        self.target = target
        self.amd = machines.is_amd(target)
        self.variables = {
            result: operation.variable
            for operation in module.operations
            for result in operation.results
            if operation.variable
        }

    def read(self, operation: Operation) -> Iterator[Access]:
        if operation.name in _KINDS:
            yield from _KINDS[operation.name](self, operation)

    def access(
        self,
        operation: Operation,
        value: str,
        memory: MemoryType,
        tensor: TensorType | None,
        make: Callable[[], Issues | Boxes],
    ) -> Access:
        try:
            made, reason = make(), ""
        except LayoutError as error:
            made, reason = None, error.diagnostics[0].message
        origin = self.module.origin(value)
        buffer = self.variables.get(origin, origin.removeprefix("%"))
        return Access(buffer, value, operation, memory, tensor, made, reason)

    def placement(self, value: str, memory: MemoryType, tensor: TensorType) -> Placement:
        return place(
            self.module.encoding(tensor),
            self.module.encoding(memory),
            memory.shape,
            element_bits(memory.element),
            memory.whole[-len(memory.shape) :],
            self.module.corners.get(value),
        )

    def load(self, operation: Operation) -> Iterator[Access]:
        value, memory, tensor = operation.operands[0], _memory(operation), _tensor(operation)
        yield self.access(
            operation, value, memory, tensor,
            lambda: loads(self.placement(value, memory, tensor), self.target),
        )  # fmt: skip

    def store(self, operation: Operation) -> Iterator[Access]:
        value, memory, tensor = operation.operands[1], _memory(operation), _tensor(operation)
        yield self.access(
            operation, value, memory, tensor,
            lambda: stores(self.placement(value, memory, tensor), self.target),
        )  # fmt: skip

    def allocation(self, operation: Operation) -> Iterator[Access]:
        """A buffer that is made with its contents is stored to."""
        if operation.operands:
            value, memory, tensor = operation.results[0], _memory(operation), _tensor(operation)
            yield self.access(
                operation, value, memory, tensor,
                lambda: stores(self.placement(value, memory, tensor), self.target),
            )  # fmt: skip

    def copy(self, operation: Operation) -> Iterator[Access]:
        value, memory, tensor = operation.operands[1], _memory(operation), _tensor(operation)
        # Where the text does not say it, the compiler has it from the pointers, and copies of less
        # than four bytes are none.
        found = _CONTIGUITY.search(operation.text)
        contiguity = int(found[1]) if found else _MOST_ELEMENTS
        yield self.access(
            operation, value, memory, tensor,
            lambda: copies(self.placement(value, memory, tensor), self.target, contiguity),
        )  # fmt: skip

    def box(self, operation: Operation) -> Iterator[Access]:
        found = _AFTER_COORDINATES.search(operation.text)
        memories = [type_ for type_ in operation.types if isinstance(type_, MemoryType)]
        if found and memories:
            memory = memories[-1]
            bits = element_bits(memory.element)
            yield self.access(
                operation, found[1], memory, None,
                lambda: boxes(self.module.encoding(memory), memory.shape, bits),
            )  # fmt: skip

    def product(self, operation: Operation) -> Iterator[Access]:
        """Operands that the matrix unit reads from shared memory: B always, A often."""
        for value, memory in zip(operation.operands, operation.types[:2], strict=False):
            if isinstance(memory, MemoryType) and self.module.is_shared(memory):
                make = partial(self.operand, memory, operation)
                yield self.access(operation, value, memory, None, make)

    def operand(self, memory: MemoryType, operation: Operation) -> Issues:
        result = operation.types[2] if operation.name == _TENSOR_CORE else operation.types[-1]
        bits = element_bits(memory.element)
        summed = operation.types[1].shape[-2] * bits // (8 * _K_BYTES)
        rows, columns = result.shape[-2:]
        name, each = "tcgen05.mma", (128, 256)
        if isinstance(result, TensorType):
            encoding = self.module.encoding(result)
            assert isinstance(encoding, NvidiaMma), "wgmma makes results of its own layout"
            name, each = "wgmma", (16 * encoding.warps_per_block[0], encoding.instruction[1])
        count = prod(max(1, size // step) for size, step in zip((rows, columns), each, strict=True))
        whole = memory.whole[-len(memory.shape) :]
        return operand(
            self.module.encoding(memory), memory.shape, whole, bits, name, count * max(1, summed)
        )


def _memory(operation: Operation) -> MemoryType:
    return next(type_ for type_ in operation.types if isinstance(type_, MemoryType))


def _tensor(operation: Operation) -> TensorType:
    return next(type_ for type_ in operation.types if isinstance(type_, TensorType))


_KINDS: dict[str, Callable[[_Reader, Operation], Iterator[Access]]] = {
    "ttg.local_load": _Reader.load,
    "ttg.local_store": _Reader.store,
    "ttg.local_alloc": _Reader.allocation,
    "ttg.async_copy_global_to_local": _Reader.copy,
    "ttng.async_tma_copy_global_to_local": _Reader.box,
    "ttng.async_tma_copy_local_to_global": _Reader.box,
    "ttng.warp_group_dot": _Reader.product,
    _TENSOR_CORE: _Reader.product,
}
