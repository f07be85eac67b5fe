"""Random statements that move whole tiles: copies, fills, reductions, products."""

from tests.fuzz.exact import LARGE, MANTISSA, SMALL
from tests.fuzz.writer import Dim, Tensor, TileName, Writer

REDUCTIONS = ("sum", "max", "min", "absmax", "abssum")
LARGEST_PRODUCT = 1100
NARROW_PRODUCTS = ("float8_e4m3fn", "float8_e5m2")


def region(w: Writer, tensor: Tensor, dims: tuple[Dim, ...], moved: bool = False) -> str:
    """The part of a tensor that a tile with these dimensions stands for, in one of its forms."""
    slices = w.random.random() < 0.4
    parts = []
    for axis in tensor.axes:
        dim = axis.dim
        if dim is None:
            parts.append(str(w.random.randrange(axis.slices)))
        elif axis.kind == "blocks":
            parts.append(dim.grid or "0")
        elif dim not in dims:
            parts.append(w.offset(dim) if not dim.grid or not moved else "0")
        else:
            start = w.offset(dim)
            if moved and start != "0" and w.random.random() < 0.3:
                shift = w.random.choice([1, 2, -1, -3])
                start = f"{start} {'+' if shift > 0 else '-'} {abs(shift)}"
            parts.append(f"{start} : {start} + {dim.block_name}" if slices else start)
    if slices is False and len(dims) == len(tensor.axes) and all(p == "0" for p in parts):
        whole = all(d.block == d.extent and not d.is_dynamic for d in dims)
        if whole and w.random.random() < 0.7:
            return tensor.name
    return f"{tensor.name}[{', '.join(parts)}]"


def load(w: Writer, tile: TileName | None = None) -> bool:
    """A copy from a tensor, often past its ends."""
    if tile is None:
        tile = _target(w)
    dtype = None if w.random.random() < 0.4 else tile.dtype
    if dtype is None and tile.dtype in MANTISSA:
        # What the tensor holds must be a number of the tile's type.
        kinds = [d for d in SMALL if SMALL[d][0] <= SMALL[tile.dtype][0]]
        kinds = [d for d in kinds if SMALL[d][1] <= SMALL[tile.dtype][1]]
        dtype = w.random.choice(kinds)
    elif dtype is None and tile.dtype != "bool":
        dtype = w.random.choice(["int32", "int8", "uint8", "int64", "int16"])
    tensor = w.input_of(tile.dims, dtype or tile.dtype)
    w.add(f"T.copy({region(w, tensor, tile.dims, moved=True)}, {tile.name})")
    w.ready.add(tile.name)
    return True


def _target(w: Writer) -> TileName:
    plain = [t for t in w.tiles if not t.is_rough]
    if (plain and w.random.random() < 0.7) or len(w.tiles) > 9:
        return w.random.choice(plain)
    return w.new_tile(w.some_dims(), w.any_dtype(), w.random.random() < 0.3)


def save(w: Writer) -> bool:
    """A copy to the program's own part of an output."""
    tiles = [t for t in w.tiles if t.name in w.ready]
    if not tiles:
        return False
    return save_tile(w, w.random.choice(tiles))


def save_tile(w: Writer, tile: TileName) -> bool:
    role = "rough" if tile.is_rough else "output"
    dtype = tile.dtype
    if not tile.is_rough and w.random.random() < 0.2:
        wider = {"float16": "float32", "bfloat16": "float32", "int8": "int32", "int32": "int8"}
        dtype = wider.get(dtype, dtype)
    tensor = w.own_part(tile.dims, dtype, role, tile.is_large)
    w.add(f"T.copy({tile.name}, {region(w, tensor, tile.dims)})")
    return True


def read_back(w: Writer) -> bool:
    """A copy from what this program has written itself, or will."""
    tensors = [t for t in w.tensors if t.role == "output" and t.name in w.written and t.dims]
    if not tensors:
        return False
    tensor = w.random.choice(tensors)
    if tensor.dtype in MANTISSA:
        return False
    tile = w.new_tile(tensor.dims, tensor.dtype)
    w.add(f"T.copy({region(w, tensor, tile.dims)}, {tile.name})")
    w.ready.add(tile.name)
    return True


def fill(w: Writer) -> bool:
    tile = _target(w)
    number = w.random.choice(["0", "1", "-2", "2"])
    if tile.dtype in MANTISSA and SMALL[tile.dtype][1]:
        number = w.random.choice([number, "0.5", "-1.5"])
    if tile.dtype == "bool" or tile.dtype.startswith("uint"):
        number = number.strip("-")
    if tile.name in w.ready and w.random.random() < 0.3 and tile.dims:
        first = tile.dims[0].block
        low = w.random.randrange(first)
        high = w.random.randint(low + 1, first)
        rest = "".join(", :" for _ in tile.dims[1:])
        w.add(f"T.fill({tile.name}[{low}:{high}{rest}], {number})")
        return True
    if number == "0" and w.random.random() < 0.6:
        w.add(f"T.clear({tile.name})")
    else:
        w.add(f"T.fill({tile.name}, {number})")
    w.ready.add(tile.name)
    return True


def copy_tile(w: Writer) -> bool:
    """A copy between tiles, of the whole or of a part, with a cast."""
    pairs = [
        (a, b)
        for a in w.readable_tiles()
        for b in w.tiles
        if a is not b and not b.is_rough and _holds(b, a)
    ]
    same = [(a, b) for a, b in pairs if a.dims == b.dims]
    parts = [
        (a, b) for a, b in pairs if a.dims and len(a.dims) == len(b.dims) and b.name in w.ready
    ]
    if same and (not parts or w.random.random() < 0.6):
        a, b = w.random.choice(same)
        w.add(f"T.copy({a.name}, {b.name})")
        w.ready.add(b.name)
        return True
    if not parts:
        return False
    a, b = w.random.choice(parts)
    left, right = [], []
    for x, y in zip(a.dims, b.dims, strict=True):
        size = w.random.randint(1, min(x.block, y.block))
        i, j = w.random.randint(0, x.block - size), w.random.randint(0, y.block - size)
        left.append(f"{i}:{i + size}")
        right.append(f"{j}:{j + size}")
    w.add(f"T.copy({a.name}[{', '.join(left)}], {b.name}[{', '.join(right)}])")
    return True


def _holds(target: TileName, source: TileName) -> bool:
    """Whether every number of the source is one of the target's."""
    if target.dtype == "bool" or source.dtype == "bool":
        return target.dtype == source.dtype
    if target.limits is None:
        return source.limits is None
    if source.limits is None:
        return False
    return source.limits[0] <= target.limits[0] and source.limits[1] <= target.limits[1]


def row(w: Writer) -> bool:
    """One row or column of a tile copied to a tile, or from one."""
    pairs = [
        (a, b, at)
        for a in w.readable_tiles()
        for b in w.tiles
        for at in range(2)
        if len(a.dims) == 2 and b.dims == (a.dims[1 - at],) and b.dtype == a.dtype
        if b.is_large == a.is_large and not b.is_rough
    ]
    if not pairs:
        return False
    tile, vector, at = w.random.choice(pairs)
    index = [":", ":"]
    index[at] = str(w.random.randrange(tile.dims[at].block))
    small = [c.text for c in w.counters if c.bound < tile.dims[at].block]
    if small and w.random.random() < 0.5:
        index[at] = w.random.choice(small)
    part = f"{tile.name}[{', '.join(index)}]"
    if vector.name in w.ready and w.random.random() < 0.5:
        w.add(f"T.copy({vector.name}, {part})")
        return True
    w.add(f"T.copy({part}, {vector.name})")
    w.ready.add(vector.name)
    return True


def reduce(w: Writer) -> bool:
    tiles = [t for t in w.readable_tiles() if t.dims and t.dtype != "bool"]
    if not tiles:
        return False
    tile = w.random.choice(tiles)
    dim = w.random.randrange(len(tile.dims))
    kind = w.random.choice(REDUCTIONS)
    rest = tuple(d for at, d in enumerate(tile.dims) if at != dim)
    if kind.startswith("abs") and tile.dtype.startswith("uint"):
        kind = "max"
    is_sum = kind.endswith("sum")
    dtype = tile.dtype if w.random.random() < 0.6 else w.random.choice(["float32", "int32"])
    if (dtype in MANTISSA) != (tile.dtype in MANTISSA):
        dtype = tile.dtype
    bound, grain = tile.limits or (0, 0)
    total = bound * (tile.dims[dim].block if is_sum else 1)
    if dtype in MANTISSA and (LARGE[dtype][0] / 2 < total or LARGE[dtype][1] < grain):
        dtype = "float32"
        if total > LARGE[dtype][0] / 2:
            return False
    found = [t for t in w.tiles if t.dims == rest and t.dtype == dtype and not t.is_rough]
    found = [t for t in found if t is not tile]
    found = [
        t for t in found if t.limits is None or (t.limits[0] / 2 >= total and t.limits[1] >= grain)
    ]
    if found and w.random.random() < 0.6:
        out = w.random.choice(found)
    else:
        out = w.new_tile(rest, dtype, large=True)
    options = f", dim={dim - w.random.choice([0, len(tile.dims)])}"
    clear = w.random.random() < 0.6 or out.name not in w.ready or kind == "abssum"
    if is_sum and not clear and not w.has_room(out, total):
        clear = True
    if not clear:
        options += ", clear=False"
    elif w.random.random() < 0.3 and kind != "abssum":
        options += ", clear=True"
    if tile.dtype in MANTISSA and kind in ("max", "min") and w.random.random() < 0.2:
        options += ", nan_propagate=True"
    w.add(f"T.reduce_{kind}({tile.name}, {out.name}{options})")
    w.ready.add(out.name)
    return True


def gemm(w: Writer) -> bool:
    names = list(w.dims.values())
    w.random.shuffle(names)
    if len(names) < 3:
        return False
    m, n, k = names[:3]
    if max(m.block * n.block, m.block * k.block, k.block * n.block) > LARGEST_PRODUCT:
        return False
    if k.block < 16:
        return False
    dtype = w.random.choice(["float16", "float16", "bfloat16", "float32", "int8", *NARROW_PRODUCTS])
    if k.block < 32 and dtype in ("int8", *NARROW_PRODUCTS):
        dtype = "float16"
    result = "int32" if dtype == "int8" else "float32"
    if dtype == "float16" and w.random.random() < 0.2:
        result = "float16"
    a_dims, b_dims = ((m, k), (k, n))
    flip_a, flip_b = w.random.random() < 0.25, w.random.random() < 0.5
    a_dims, b_dims = (k, m) if flip_a else a_dims, (n, k) if flip_b else b_dims
    a, b = _operand(w, a_dims, dtype), _operand(w, b_dims, dtype)
    if a is None or b is None:
        return False
    bound = SMALL[dtype][0] ** 2 * k.block if dtype in MANTISSA else 0
    if result == "float16":
        bound *= 2
    if result in MANTISSA and LARGE[result][0] / 2 < bound:
        return False
    found = [
        t
        for t in w.tiles
        if t.dims == (m, n) and t.dtype == result and not t.is_rough and t not in (a, b)
    ]
    found = [t for t in found if t.is_large or t.limits is None]
    out = w.random.choice(found) if found else w.new_tile((m, n), result, large=True)
    options = (", transpose_A=True" if flip_a else "") + (", transpose_B=True" if flip_b else "")
    ready = out.name in w.ready
    if not ready or (w.random.random() < 0.2):
        options += ", clear_accum=True"
        if out.limits is not None and bound > out.limits[0]:
            return False
    elif not w.has_room(out, bound):
        w.add(f"T.clear({out.name})")
        options += ", clear_accum=True"
    if w.random.random() < 0.1:
        options += ", policy=T.GemmWarpPolicy.FullRow"
    w.add(f"T.gemm({a.name}, {b.name}, {out.name}{options})")
    w.ready.add(out.name)
    return True


def _operand(w: Writer, dims: tuple[Dim, ...], dtype: str) -> TileName | None:
    found = [
        t for t in w.readable_tiles() if t.dims == dims and t.dtype == dtype and not t.is_large
    ]
    if found and w.random.random() < 0.7:
        return w.random.choice(found)
    tile = w.new_tile(dims, dtype)
    load(w, tile)
    return tile
