"""How each tile of a kernel is moved, kept and multiplied, read from what the compiler made."""

import ast
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from tile2triton.explaining.machine_text import instructions_by_line
from tile2triton.explaining.ttgir_text import Operation, Tile, Ttgir, described, warps_of

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
    nodes = _statements(text)
    statements = {line: node.lineno for line, node in nodes.items()}
    module = Ttgir(ttgir, path, statements)
    counts = instructions_by_line(machine, path, statements, is_nvidia)
    operations = list(module.operations())
    buffers = _buffers(operations, module)
    moves: dict[tuple[str, int], Move] = {}
    products: dict[tuple[str, int], Product] = {}
    for one in operations:
        kind = _kind(one)
        if kind == "product":
            made = _product(one, module, counts)
            products.setdefault((one.variable, one.line), made)
        elif kind and one.tiles:
            tensor = _accessed(nodes[one.line]) if one.line in nodes else ""
            moves.setdefault((kind, one.line), _move(kind, one, tensor, buffers, counts))
    return Tiles(tuple(moves.values()), tuple(products.values()), tuple(buffers))


def _statements(text: str) -> dict[int, ast.stmt]:
    """The simple statement that each line is of."""
    return {
        line: node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.Assign, ast.Expr))
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


def _accessed(statement: ast.stmt) -> str:
    """The tensor that a statement of the emitted kernel loads from or stores to."""
    for node in ast.walk(statement):
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr=name), args=arguments) if (
                name.startswith(("load", "store", "atomic"))
            ):
                is_pointer = isinstance(owner, ast.Name) and owner.id == "tl" and arguments
                return _first_name(arguments[0] if is_pointer else owner).removesuffix("_desc")
    return ""


def _first_name(tree: ast.expr) -> str:
    """The pointer that a sum of it and offsets begins with."""
    match tree:
        case ast.Name(id=name):
            return name
        case ast.BinOp(left=left):
            return _first_name(left)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="tl")), args=[first, *_]):
            return _first_name(first)
        case ast.Call(func=ast.Attribute(value=owner)):
            return _first_name(owner)
    return ""


def _kind(operation: Operation) -> str:
    dialect, _, name = operation.name.rpartition(".")
    if dialect.startswith(("tt", "amdg", "amdgpu")):
        for kind, names in (("load", LOADS), ("store", STORES), ("atomic", ATOMICS)):
            if name in names:
                return kind
        if name in PRODUCTS:
            return "product"
    return ""


def _buffers(operations: list[Operation], module: Ttgir) -> list[Buffer]:
    found: list[Buffer] = []
    for one in operations:
        if one.name.endswith("local_alloc") and one.tiles:
            tile = one.tiles[-1]
            if tile.element == "i64" and tile.shape[-1] == 1:
                # A barrier.
                continue
            layout = next((name for name in one.layouts if "shared" in name), "")
            made = Buffer(
                one.variable, tile.shape, tile.element, module.layouts.get(layout, layout)
            )
            if made not in found:
                found.append(made)
    return found


def _move(
    kind: str,
    one: Operation,
    tensor: str,
    buffers: list[Buffer],
    counts: dict[int, Counter[str]],
) -> Move:
    shape = max((tile.shape for tile in one.tiles), key=math.prod)
    tile = Tile(shape, one.pointed or one.tiles[-1].element)
    variable = one.variable if kind == "load" else ""
    kept = [buffer for buffer in buffers if variable and buffer.variable == variable]
    copies = 0
    for buffer in kept:
        is_ring = len(buffer.shape) == len(tile.shape) + 1
        copies = max(copies, buffer.shape[0] if is_ring else 1)
    return Move(
        kind=kind,
        variable=variable,
        tensor=tensor,
        line=one.line,
        shape=tile.shape,
        element=tile.element,
        bytes=tile.bytes,
        buffers=copies,
        layout=described(kept[0].layout) if kept else "",
        instructions=_of_line(counts, one.line, kind),
    )


# What instructions of a line belong to what stands there.
_WORDS = {
    "load": ("ld.global", "cp.async", "TMA load", "_load_", "global_load"),
    "store": ("st.global", "TMA store", "_store_"),
    "atomic": ("atom", "red."),
    "product": ("wgmma", "mma", "mfma"),
}


def _of_line(counts: dict[int, Counter[str]], line: int, kind: str) -> dict[str, int]:
    words = _WORDS[kind]
    found = counts.get(line, Counter())
    return {name: n for name, n in sorted(found.items()) if any(word in name for word in words)}


def _product(one: Operation, module: Ttgir, counts: dict[int, Counter[str]]) -> Product:
    # On Blackwell the result is an operand: the third, in tensor memory.
    tile = one.tiles[2] if one.name.endswith("tc_gen5_mma") else one.tiles[-1]
    names = [name for name in one.layouts if "warpsPerCTA" in module.layouts.get(name, "")]
    layout = module.layouts[names[-1]] if names else ""
    return Product(
        variable=one.variable,
        line=one.line,
        shape=tile.shape,
        element=tile.element,
        warps=warps_of(layout),
        layout=layout,
        instructions=_of_line(counts, one.line, "product"),
    )
