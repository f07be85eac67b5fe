"""Every access to shared memory in a TTGIR module: its buffer, and what it takes."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import prod

from ..ttgir_text.module import Module, Operation, is_shared
from ..ttgir_text.tensor_types import MemoryType, TensorType, element_bits
from . import machines
from .encoding import Encoding
from .errors import LayoutError
from .issues import Issues
from .matrix_operands import Boxes
from .nvidia_mma import NvidiaMma
from .reading import encoding_in
from .uses import BOX, COPY, LOAD, OPERAND, STORE, Use

_CONTIGUITY = re.compile(r"contiguity = (\d+)")
_AFTER_COORDINATES = re.compile(r"\]\s*(%[\w$.-]+(?:#\d+)?)")
_TENSOR_CORE = "ttng.tc_gen5_mma"
# The rows of one wgmma.
_GROUP_ROWS = 64
# What one instruction of wgmma or tcgen05 sums over.
_K_BYTES = 32
# The most rows and columns of one instruction of tcgen05.
_TENSOR_CORE_SHAPE = (128, 256)


@dataclass(frozen=True)
class Access:
    """One operation on the buffer that `value`, a descriptor, is or is a view of.

    `use`, `memory` and `made` are None where the operation or its layout is not simulated, for the
    `reason` given.
    """

    buffer: str
    value: str
    operation: Operation
    memory_type: MemoryType
    use: Use | None = None
    memory: Encoding | None = None
    made: Issues | Boxes | None = None
    reason: str = ""


def accesses(module: Module, target: str = "") -> list[Access]:
    """The accesses in the order of the text; `target` is the module's own where it is empty."""
    reader = _Reader(module, target or module.target)
    return [access for operation in module.operations for access in reader.read(operation)]


class _Reader:
    """Finds what operations access, each by the method that `_KINDS` has for its name."""

    def __init__(self, module: Module, target: str) -> None:
        machines.is_amd(target)
        # Text that is no TTGIR is an error, and no access that is not simulated.
        assert module.aliases is not None
        self.module = module
        self.target = target
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
        self, operation: Operation, value: str, memory_type: MemoryType, use: Callable[[], Use]
    ) -> Access:
        origin = self.module.origin(value)
        buffer = self.variables.get(origin, origin.removeprefix("%").partition("@")[0])
        known = partial(Access, buffer, value, operation, memory_type)
        try:
            used = use()
            memory = encoding_in(self.module, memory_type)
            return known(use=used, memory=memory, made=used.made(memory, self.target))
        except LayoutError as error:
            return known(reason=error.diagnostics[0].message)

    def moved(
        self, operation: Operation, kind: str, value: str, contiguity: int = 16
    ) -> Iterator[Access]:
        """Registers, or lanes' pointers, to or from a buffer."""
        memory = next(type_ for type_ in operation.types if isinstance(type_, MemoryType))
        tensor = next(type_ for type_ in operation.types if isinstance(type_, TensorType))

        def use() -> Use:
            return Use(
                kind,
                memory.shape,
                element_bits(memory.element),
                encoding_in(self.module, tensor),
                memory.whole[-len(memory.shape) :],
                self.module.corners.get(value, ()),
                contiguity,
            )

        yield self.access(operation, value, memory, use)

    def load(self, operation: Operation) -> Iterator[Access]:
        yield from self.moved(operation, LOAD, operation.operands[0])

    def store(self, operation: Operation) -> Iterator[Access]:
        yield from self.moved(operation, STORE, operation.operands[1])

    def allocation(self, operation: Operation) -> Iterator[Access]:
        """A buffer that is made with its contents is stored to."""
        if operation.operands:
            yield from self.moved(operation, STORE, operation.results[0])

    def copy(self, operation: Operation) -> Iterator[Access]:
        # Where the text does not say it, the compiler has it from the pointers, and copies of less
        # than four bytes are none.
        found = _CONTIGUITY.search(operation.text)
        contiguity = int(found[1]) if found else 16
        yield from self.moved(operation, COPY, operation.operands[1], contiguity)

    def box(self, operation: Operation) -> Iterator[Access]:
        found = _AFTER_COORDINATES.search(operation.text)
        memories = [type_ for type_ in operation.types if isinstance(type_, MemoryType)]
        if found and memories:
            memory = memories[-1]
            value = next(name for name in operation.operands if name.partition("@")[0] == found[1])
            yield self.access(
                operation,
                value,
                memory,
                lambda: Use(BOX, memory.shape, element_bits(memory.element)),
            )

    def product(self, operation: Operation) -> Iterator[Access]:
        """Operands that the matrix unit reads from shared memory: B always, A often."""
        for value, memory in zip(operation.operands, operation.types[:2], strict=False):
            if isinstance(memory, MemoryType) and is_shared(memory, self.module.written_aliases):
                use = partial(self.operand, memory, operation)
                yield self.access(operation, value, memory, use)

    def operand(self, memory: MemoryType, operation: Operation) -> Use:
        result = operation.types[2] if operation.name == _TENSOR_CORE else operation.types[-1]
        bits = element_bits(memory.element)
        unit, each = "tcgen05.mma", _TENSOR_CORE_SHAPE
        if isinstance(result, TensorType):
            encoding = encoding_in(self.module, result)
            assert isinstance(encoding, NvidiaMma), "wgmma makes results of its own layout"
            # Four warps multiply together, each group of them by instructions of its own.
            unit, each = "wgmma", (_GROUP_ROWS, encoding.instruction[1])
        steps = operation.types[1].shape[-2] * bits // (8 * _K_BYTES)
        tiles = [max(1, size // step) for size, step in zip(result.shape[-2:], each, strict=True)]
        return Use(
            OPERAND,
            memory.shape,
            bits,
            whole=memory.whole[-len(memory.shape) :],
            unit=unit,
            instructions=prod(tiles) * max(1, steps),
        )


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
