"""Random atomic operations on tensors that all programs share."""

from typing import TYPE_CHECKING

from tests.fuzz.exact import stored
from tests.fuzz.expressions import Expressions
from tests.fuzz.regions import region
from tests.fuzz.writer import Axis, Dim, Tensor, Writer

if TYPE_CHECKING:
    from tests.fuzz.elements import Loop

# What programs of any order leave alike in a tensor that they share.
ATOMICS = {
    "add": ("float32", "float64", "int32", "int64", "uint32"),
    "max": ("float32", "int32", "int64", "uint32"),
    "min": ("float32", "int32", "int64", "uint32"),
    "or": ("int32", "uint32", "int64"),
}


def atomic_tile(w: Writer) -> bool:
    """A tile combined with a tensor that all programs share."""
    op = _operation(w)
    kinds = ATOMICS[op]
    tiles = [t for t in w.readable_tiles() if t.dtype in kinds and not t.is_large]
    if not tiles:
        return False
    tile = w.random.choice(tiles)
    tensor = shared_tensor(w, tile.dims, tile.dtype, op)
    w.add(f"T.atomic_{op}({region(w, tensor, tile.dims, moved=True)}, {tile.name})")
    return True


def atomic_elements(loop: "Loop") -> None:
    """An atomic operation on elements of a tensor that all programs share."""
    w = loop.w
    dims = tuple(loop.variables)[: w.random.randint(1, 2)]
    op = _operation(w)
    dtype = w.random.choice(ATOMICS[op])
    make = Expressions(w.random, loop.leaf)
    value = stored(make.value(1), dtype).text
    tensor = shared_tensor(w, dims, dtype, op)
    index = []
    for axis in tensor.axes:
        assert axis.dim is not None
        index.append(f"{w.offset(axis.dim)} + {loop.variables[axis.dim]}")
    tiles = [
        t
        for t in w.readable_tiles()
        if t.dtype == "int32" and t.name not in loop.written and set(t.dims) <= set(loop.variables)
    ]
    if tiles and w.random.random() < 0.4:
        tile = w.random.choice(tiles)
        where = ", ".join(loop.variables[d] for d in tile.dims) or "0"
        index[w.random.randrange(len(index))] = f"{tile.name}[{where}]"
    guard = w.random.random() < 0.3
    if guard:
        w.add(f"if {make.condition(1)}:")
    w.add("    " * guard + f"T.atomic_{op}({tensor.name}[{', '.join(index)}], {value})")


def _operation(w: Writer) -> str:
    return w.random.choice(["add", "add", "add", "max", "min", "or"])


def shared_tensor(w: Writer, dims: tuple[Dim, ...], dtype: str, op: str) -> Tensor:
    """A tensor that is changed by one operation only, so that the order does not count."""
    role = f"atomic {op}"
    found = [t for t in w.tensors if t.role == role and t.dtype == dtype and t.dims == dims]
    tensor = w.random.choice(found) if found else None
    if tensor is None or w.random.random() < 0.3:
        tensor = w.declare("S", tuple(Axis(dim) for dim in dims), dtype, role)
    w.written.add(tensor.name)
    return tensor
