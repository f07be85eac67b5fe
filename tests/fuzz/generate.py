"""Write a random tile program as its users would, by a seed."""

import random

from tests.fuzz import atomics, combining, control, elements, macros, regions
from tests.fuzz.exact import Value
from tests.fuzz.writer import EXTENTS, Axis, Dim, Tensor, Writer

SIMPLE = (
    (regions.load, 4),
    (regions.save, 1),
    (regions.read_back, 1),
    (regions.fill, 1),
    (regions.copy_tile, 2),
    (regions.row, 1),
    (regions.reduce, 3),
    (regions.gemm, 2),
    (atomics.atomic_tile, 1),
    (combining.scan, 1),
    (combining.reduce_bits, 1),
    (combining.transpose, 1),
    (combining.reducer, 1),
    (combining.scatter, 1),
    (combining.lane_loop, 1),
    (macros.call, 1),
    (elements.parallel, 7),
    (elements.update, 1),
    (elements.through_view, 1),
    (elements.nested, 1),
    (control.variable, 1),
    (control.jump, 1),
)
# What products can have as their inner size.
INNER = (16, 17, 20, 24, 32, 32, 33, 40)
NESTED = ((control.loop, 3), (control.branch, 2), (control.repeat, 1))


def program(seed: int) -> str:
    """The text of a module with one `T.prim_func` called `kernel`."""
    w = Writer(random.Random(seed))
    _dimensions(w)
    for name in ("n", "s")[: w.random.choice([0, 1, 1, 2])]:
        w.sizes[name] = w.random.randint(0, 4)
        w.scalars.append(Value(name, "int32", 4))
    body = w.lines
    for _ in range(w.random.choice([1, 1, 1, 1, 2, 3])):
        _kernel(w)
    w.lines = []
    _header(w)
    return "\n".join([*w.lines, *body]) + "\n"


def _dimensions(w: Writer) -> None:
    chance = w.random
    rank = chance.choice([0, 1, 1, 2, 2, 2, 3])
    letters = iter("MNLKHD")
    for at in range(rank):
        block = chance.choice(EXTENTS) if at < 2 else chance.choice([1, 1, 2, 4])
        # Few programs are enough to have a whole part and a ragged one, and are run fast.
        most = 2 * block + 2 if at == 0 else block + block // 2 + 1
        extent = chance.randint(1, most) if chance.random() < 0.7 else block * (1 + (at == 0))
        _add(w, next(letters), block, extent, "bx by bz".split()[at])
    for _ in range(chance.choice([1, 2, 2, 3]) if rank else chance.choice([2, 3])):
        block = chance.choice(EXTENTS if chance.random() < 0.4 else INNER)
        extent = chance.choice([block, block, 2 * block, chance.randint(1, 2 * block + 3)])
        _add(w, next(letters), block, extent, "")


def _add(w: Writer, letter: str, block: int, extent: int, grid: str) -> None:
    w.dims[letter] = Dim(letter, block, extent, grid, w.random.random() < 0.2)


def _kernel(w: Writer) -> None:
    grid = w.grid_dims()
    extents = ", ".join(f"T.ceildiv({d.letter}, {d.block_name})" for d in grid) or "1"
    names = ", ".join(d.grid for d in grid) or "bx"
    target = f"({names})" if len(grid) > 1 else names
    w.depth = 1
    w.ready, w.tiles, w.variables, w.written = set(), [], [], set()
    w.counters, w.offsets, w.runs = [], {}, 1
    persistent = len(grid) == 2 and w.random.random() < 0.15
    if persistent:
        w.add(f"with T.Kernel({w.random.randint(1, 3)}, threads=128) as b:")
        w.depth += 1
        group = w.random.choice(["", ", 2", ", group_size=4"])
        tiles = ", ".join(f"T.ceildiv({d.letter}, {d.block_name})" for d in grid)
        w.add(f"for {names} in T.Persistent([{tiles}], 3, b{group}):")
    else:
        w.add(f"with T.Kernel({extents}, threads=128) as {target}:")
    with w.indented():
        if len(grid) == 2 and not persistent and w.random.random() < 0.1:
            w.add(f"T.use_swizzle({w.random.randint(1, 4)})")
        _block(w, w.random.randint(3, 7))
        if w.random.random() < 0.2:
            _rough(w)
        for tile in list(w.tiles):
            if tile.name in w.ready:
                regions.save_tile(w, tile)


def _block(w: Writer, count: int) -> None:
    for _ in range(count):
        simple = [make for make, weight in SIMPLE for _ in range(weight)]
        nested = [make for make, weight in NESTED for _ in range(weight)]
        if w.depth < 4 and w.random.random() < 0.2:
            w.random.choice(nested)(w, _block)
        else:
            for _ in range(4):
                if w.random.choice(simple)(w):
                    break


def _rough(w: Writer) -> None:
    """A tile of what is right to a few bits only; nothing exact is computed from it."""
    tile = w.new_tile(w.some_dims(), "float32", rough=True)
    loop = elements.Loop(w, dict(zip(tile.dims, elements.VARIABLES, strict=False)))
    extents = ", ".join(d.block_name for d in tile.dims)
    w.add(f"for {', '.join(loop.variables.values())} in T.Parallel({extents}):")
    with w.indented():
        elements.store(loop, tile)
    w.ready.add(tile.name)


def _header(w: Writer) -> None:
    w.depth = 0
    used = list(w.dims.values())
    w.sizes |= {d.letter: d.extent for d in used if d.is_dynamic and _is_given(w, d)}
    w.add("import tile2triton")
    w.add("import tile2triton.language as T")
    w.add("")
    w.add(f"SIZES = {w.sizes}")
    for dim in used:
        w.add(f"{dim.block_name} = {dim.block}")
        if dim.letter in w.sizes:
            w.add(f'{dim.letter} = T.dynamic("{dim.letter}")')
        else:
            w.add(f"{dim.letter} = {dim.extent}")
    w.add("")
    w.add("")
    for line in w.macros:
        w.add(line)
    is_eager = w.random.random() < 0.25
    w.add("@tile2triton.kernel" if is_eager else "@T.prim_func")
    parameters = [_parameter(t) for t in w.tensors]
    parameters += [f"{name}: T.int32" for name in w.sizes if name not in w.dims]
    w.add("def kernel(")
    for parameter in parameters:
        name = parameter.split(":")[0]
        is_tensor = any(tensor.name == name for tensor in w.tensors)
        w.add(f"    {name if is_eager and is_tensor else parameter},")
    w.add("):")
    if is_eager:
        w.depth = 1
        for parameter in parameters[: len(w.tensors)]:
            w.add(parameter)


def _is_given(w: Writer, dim: Dim) -> bool:
    """Whether a tensor has this size, so that the launch knows it."""
    return any(Axis(dim) in t.axes for t in w.tensors)


def _parameter(tensor: Tensor) -> str:
    shape = ", ".join(axis.text for axis in tensor.axes)
    comma = "," if len(tensor.axes) == 1 else ""
    return f'{tensor.name}: T.Tensor(({shape}{comma}), "{tensor.dtype}")'
