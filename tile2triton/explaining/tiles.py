"""How each tile of a kernel is moved, kept and multiplied, read from what the compiler made."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tile2triton.explaining.accessed import accessed, statements
from tile2triton.explaining.layout_words import described, warps_of
from tile2triton.explaining.machine_text import instructions_by_line
from tile2triton.ttgir_text.module import Module, Operation, read_module
from tile2triton.ttgir_text.tensor_types import MemoryType, TensorType, alias_of

# By the last part of an operation's name, which back ends share.
LOADS = (
    *("load", "async_copy_global_to_local", "buffer_load", "buffer_load_to_local"),
    *("async_tma_copy_global_to_local", "descriptor_load", "async_tma_gather"),
)
STORES = ("store", "buffer_store", "async_tma_copy_local_to_global", "descriptor_store")
ATOMICS = ("atomic_rmw", "atomic_cas", "buffer_atomic_rmw", "async_tma_reduce")
PRODUCTS = ("dot", "warp_group_dot", "tc_gen5_mma", "dot_scaled")


@dataclass(frozen=True)
class Move:
    """A load, store or atomic of the emitted kernel, by its line there.

    `variable` is what it is loaded into, "" for stores; `tensor` is what is read or written.
    `buffers` counts the copies of the tile in shared memory, 0 where it has none; `layout` is that
    of these.
    """

    kind: str
    variable: str
    tensor: str
    line: int
    shape: tuple[int, ...]
    element: str
    bytes: int
    buffers: int
    layout: str
    instructions: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Product:
    """A matrix product: the variable, the shape of the result, its instructions and warps."""

    variable: str
    line: int
    shape: tuple[int, ...]
    element: str
    warps: tuple[int, ...]
    layout: str
    instructions: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Buffer:
    """A tile in shared memory: where pictures and conflicts of its layout begin."""

    variable: str
    shape: tuple[int, ...]
    element: str
    layout: str


@dataclass(frozen=True)
class Tiles:
    """What was read of one kernel."""

    moves: tuple[Move, ...]
    products: tuple[Product, ...]
    buffers: tuple[Buffer, ...]


def read_tiles(ttgir: str, machine: str, path: str, text: str, is_nvidia: bool) -> Tiles:
    """The tiles of a kernel of the emitted module `text` in the file `path`."""
    nodes = statements(text)
    lines = {line: node.lineno for line, node in nodes.items()}
    module = read_module(ttgir)
    reader = _Reader(module, instructions_by_line(machine, path, lines, is_nvidia))
    names = variables_by_line(module, path, lines)
    moves: dict[tuple[str, int], Move] = {}
    products: dict[tuple[str, int], Product] = {}
    for one in module.operations:
        kind = _kind(one)
        at = module.locations.line(one.written.location, path)
        line = lines.get(at, at)
        if kind == "product":
            # Of partitions that run one function, the first has the names of variables.
            variable = one.variable or names.get(line, "")
            products.setdefault((variable, line), reader.product(one, line, variable))
        elif kind and one.types:
            tensor = accessed(nodes[line]) if line in nodes else ""
            moves.setdefault((kind, line), reader.move(kind, one, tensor, line))
    return Tiles(tuple(moves.values()), tuple(products.values()), tuple(reader.buffers))


def variables_by_line(module: Module, path: str, lines: Mapping[int, int]) -> dict[int, str]:
    """The variables that statements assign products and changes of layouts to."""
    found: dict[int, str] = {}
    for one in module.operations:
        if one.variable and (_kind(one) == "product" or one.name == "ttg.convert_layout"):
            at = module.locations.line(one.written.location, path)
            found.setdefault(lines.get(at, at), one.variable)
    return found


def _kind(operation: Operation) -> str:
    dialect, _, name = operation.name.rpartition(".")
    if dialect.startswith(("tt", "amdg", "amdgpu")):
        for kind, names in (("load", LOADS), ("store", STORES), ("atomic", ATOMICS)):
            if name in names:
                return kind
        if name in PRODUCTS:
            return "product"
    return ""


# What instructions of a line belong to what stands there.
_WORDS = {
    "load": ("ld.global", "cp.async", "TMA load", "_load_", "global_load"),
    "store": ("st.global", "TMA store", "_store_"),
    "atomic": ("atom", "red."),
    "product": ("wgmma", "mma", "mfma"),
}


class _Reader:
    """Reads operations of a module; `counts` are the instructions of each line of the kernel."""

    def __init__(self, module: Module, counts: Mapping[int, Counter[str]]) -> None:
        self.module = module
        self.counts = counts
        self.buffers = list(dict.fromkeys(self._buffers()))

    def move(self, kind: str, one: Operation, tensor: str, line: int) -> Move:
        shape = max((type_.shape for type_ in one.types), key=math.prod)
        element = _pointed(one) or one.types[-1].element
        variable = one.variable or self._filled(one) if kind == "load" else ""
        kept = [buffer for buffer in self.buffers if variable and buffer.variable == variable]
        copies = 0
        for buffer in kept:
            is_ring = len(buffer.shape) == len(shape) + 1
            copies = max(copies, buffer.shape[0] if is_ring else 1)
        return Move(
            kind=kind,
            variable=variable,
            tensor=tensor,
            line=line,
            shape=shape,
            element=element,
            bytes=bytes_of(shape, element),
            buffers=copies,
            layout=described(kept[0].layout) if kept else "",
            instructions=self._instructions(line, kind),
        )

    def _filled(self, one: Operation) -> str:
        """The memory that an operation without a result loads into."""
        known = {buffer.variable for buffer in self.buffers}
        origins = (self.module.origin(value) for value in one.operands)
        names = (value.removeprefix("%").partition("@")[0] for value in origins)
        return next((name for name in names if name in known), "")

    def product(self, one: Operation, line: int, variable: str) -> Product:
        # On Blackwell the result is an operand: the third, in tensor memory.
        result = one.types[2] if one.name.endswith("tc_gen5_mma") else one.types[-1]
        layouts = [self._layout(type_) for type_ in one.types]
        layout = next((found for found in reversed(layouts) if "warpsPerCTA" in found), "")
        return Product(
            variable=variable,
            line=line,
            shape=result.shape,
            element=result.element,
            warps=warps_of(layout),
            layout=layout,
            instructions=self._instructions(line, "product"),
        )

    def _buffers(self) -> Iterator[Buffer]:
        for one in self.module.operations:
            if one.name == "ttg.local_alloc":
                made = one.types[-1]
                # Others are barriers.
                if made.element != "i64" or made.shape[-1] != 1:
                    yield Buffer(one.variable, made.shape, made.element, self._layout(made))

    def _layout(self, type_: TensorType | MemoryType) -> str:
        """As it is written; "" where it has no name."""
        return self.module.written_aliases.get(alias_of(type_), "")

    def _instructions(self, line: int, kind: str) -> dict[str, int]:
        found = self.counts.get(line, Counter())
        words = _WORDS[kind]
        return {name: n for name, n in sorted(found.items()) if any(word in name for word in words)}


def _pointed(operation: Operation) -> str:
    """The element that its pointers are to; "" where it has none."""
    match = re.search(r"!tt\.ptr<(\w+)>", operation.text)
    return match[1] if match else ""


def bytes_of(shape: tuple[int, ...], element: str) -> int:
    """How many bytes elements take."""
    bits = re.match(r"[a-z]+(\d+)", element)
    return (math.prod(shape) * int(bits[1] if bits else 8) + 7) // 8
