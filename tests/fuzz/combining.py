"""Random statements that combine or move elements: scans, reducers, transposes, loops of lanes."""

from tests.fuzz.elements import VARIABLES, Loop
from tests.fuzz.exact import LARGE, MANTISSA, Value, is_integer, stored
from tests.fuzz.expressions import Expressions
from tests.fuzz.writer import Dim, TileName, Writer

BITS = ("bitand", "bitor", "bitxor")


def scan(w: Writer) -> bool:
    """Running sums or maxima along a dimension, in place or to another tile."""
    tiles = [t for t in w.readable_tiles() if t.dims and t.dtype != "bool"]
    tiles = [t for t in tiles if not t.dtype.startswith("float8")]
    if not tiles:
        return False
    tile = w.random.choice(tiles)
    axis = w.random.randrange(len(tile.dims))
    kind = w.random.choice(["cumsum", "cumsum", "cummax"])
    options = f", dim={axis - w.random.choice([0, len(tile.dims)])}"
    options += w.random.choice(["", "", ", reverse=True"])
    grows = kind == "cumsum" and tile.limits is not None
    if grows:
        total = tile.limits[0] * tile.dims[axis].block
        if total > LARGE[tile.dtype][0]:
            return False
    if not grows and w.random.random() < 0.4:
        w.add(f"T.{kind}({tile.name}{options})")
        return True
    out = w.new_tile(tile.dims, tile.dtype, large=grows or tile.is_large)
    out.budget = 0
    w.add(f"T.{kind}({tile.name}, {w.random.choice(['', 'dst='])}{out.name}{options})")
    w.ready.add(out.name)
    return True


def reduce_bits(w: Writer) -> bool:
    tiles = [t for t in w.readable_tiles() if t.dims and is_integer(t.dtype)]
    if not tiles:
        return False
    tile = w.random.choice(tiles)
    axis = w.random.randrange(len(tile.dims))
    rest = tuple(d for at, d in enumerate(tile.dims) if at != axis)
    known = [t for t in w.tiles if t.dims == rest and t.dtype == tile.dtype and t is not tile]
    out = w.random.choice(known) if known else w.new_tile(rest, tile.dtype)
    options = ", clear=False" if out.name in w.ready and w.random.random() < 0.4 else ""
    w.add(f"T.reduce_{w.random.choice(BITS)}({tile.name}, {out.name}, dim={axis}{options})")
    w.ready.add(out.name)
    return True


def transpose(w: Writer) -> bool:
    tiles = [t for t in w.readable_tiles() if len(t.dims) == 2]
    if not tiles:
        return False
    tile = w.random.choice(tiles)
    dims = (tile.dims[1], tile.dims[0])
    known = [t for t in w.tiles if t.dims == dims and t.dtype == tile.dtype and not t.is_rough]
    known = [t for t in known if t.is_large >= tile.is_large]
    out = w.random.choice(known) if known else w.new_tile(dims, tile.dtype, tile.is_large)
    w.add(f"T.transpose({tile.name}, {out.name})")
    w.ready.add(out.name)
    return True


def reducer(w: Writer) -> bool:
    """A reducer of either form, that one or two loops update."""
    dims = w.some_dims(1, 2)
    if not dims:
        return False
    old = w.random.random() < 0.35
    dtype = w.random.choice(["int32", "int32", "int64", "float32", "float64"])
    op = "sum" if old else w.random.choice(["sum", "max", "min", *BITS])
    if op in BITS and dtype in MANTISSA:
        dtype = "int32"
    name = w.fresh("q")
    shape = ", ".join(d.block_name for d in dims) + ("," if len(dims) == 1 else "")
    if old:
        kind = w.random.choice([', replication="all"', ', op="sum", replication="all"'])
        w.add(f'{name} = T.alloc_reducer(({shape}), "{dtype}"{kind})')
        w.add(f"T.clear({name})")
    else:
        w.add(f'{name} = T.alloc_reducer(({shape}), "{dtype}", op="{op}")')
        start = w.random.choice([", 2", ", init=1"])
        if op not in ("max", "min") or dtype not in MANTISSA:
            start = w.random.choice([start, ""])
        w.add(f"T.reducer_init({name}{start})")
    for _ in range(w.random.choice([1, 1, 2])):
        _updates(w, name, dims, dtype, op, old)
    out = w.new_tile(dims, dtype, large=True)
    if old:
        w.add(f"T.finalize_reducer({name})")
        w.add(f"T.copy({name}, {out.name})")
    else:
        w.add(f"T.finalize_reducer({name}, {w.random.choice(['', 'dst='])}{out.name})")
    w.ready.add(out.name)
    return True


def _updates(w: Writer, name: str, dims: tuple[Dim, ...], dtype: str, op: str, old: bool) -> None:
    """A loop over the reducer's dimensions and perhaps another, each turn of which takes part."""
    others = [d for d in w.dims.values() if d not in dims]
    size = 1
    for dim in dims:
        size *= dim.block
    others = [d for d in others if d.block * size <= 1500]
    over = list(dims)
    if others and w.random.random() < 0.8:
        over.append(w.random.choice(others))
    # Sums of so many stay exact.
    w.random.shuffle(over)
    loop = Loop(w, dict(zip(over, VARIABLES, strict=False)))
    extents = ", ".join(d.block_name for d in over)
    w.add(f"for {', '.join(loop.variables.values())} in T.Parallel({extents}):")
    with w.indented():
        make = Expressions(w.random, loop.leaf)
        limits = (8, 1) if dtype in MANTISSA else None
        value = stored(make.value(2), dtype, limits).text
        place = f"{name}[{', '.join(loop.variables[d] for d in dims)}]"
        guard = w.random.random() < 0.3
        if guard:
            w.add(f"if {make.condition(1)}:")
        line = f"{place} += {value}" if old else f"T.reducer_update({place}, {value})"
        w.add("    " * guard + line)


def scatter(w: Writer) -> bool:
    """Stores to elements of a tile by a computed index, each element once."""
    tiles = [t for t in w.readable_tiles() if t.dims and t.dtype != "bool"]
    if not tiles:
        return False
    tile = w.random.choice(tiles)
    names = dict(zip(tile.dims, VARIABLES, strict=False))
    loop = Loop(w, names)
    at = w.random.randrange(len(tile.dims))
    dim = tile.dims[at]
    index = [names[d] for d in tile.dims]
    extents = [d.block_name for d in tile.dims]
    form = w.random.choice(["reversed", "even", "odd"] if dim.block > 1 else ["reversed"])
    if form == "reversed":
        index[at] = f"{dim.block_name} - 1 - {index[at]}"
    else:
        extents[at] = f"{dim.block_name} // 2"
        index[at] = f"2 * {index[at]}" + (" + 1" if form == "odd" else "")
    w.add(f"for {', '.join(names.values())} in T.Parallel({', '.join(extents)}):")
    with w.indented():
        make = Expressions(w.random, lambda: _unless(loop, tile))
        value = stored(make.value(2), tile.dtype, tile.limits)
        w.add(f"{tile.name}[{', '.join(index)}] = {value.text}")
    return True


def _unless(loop: Loop, tile: TileName) -> Value | None:
    """A leaf that does not read the tile."""
    found = loop.leaf()
    return None if found is None or f"{tile.name}[" in found.text else found


def lane_loop(w: Writer) -> bool:
    """A loop in a T.Parallel whose bounds differ from element to element, perhaps left early."""
    tiles = [t for t in w.readable_tiles() if t.dims and t.dtype in ("int32", "int64")]
    if not tiles:
        return False
    tile = w.random.choice(tiles)
    names = dict(zip(tile.dims, VARIABLES, strict=False))
    loop = Loop(w, names, written={tile.name})
    make = Expressions(w.random, loop.leaf)
    extents = ", ".join(dim.block_name for dim in tile.dims)
    w.add(f"for {', '.join(names.values())} in T.Parallel({extents}):")
    with w.indented():
        total, counter = w.fresh("v"), w.fresh("k")
        w.add(f'{total} = T.alloc_var("{tile.dtype}")')
        last = names[tile.dims[-1]]
        is_while = w.random.random() < 0.4
        if is_while:
            w.add(f'{counter} = T.alloc_var("int32")')
            w.add(f"while {counter} < {last} % 4 + {w.random.randint(0, 2)}:")
        else:
            header = w.random.choice(
                [
                    f"T.serial({last} % 3 + 1)",
                    f"range({last}, {last} + 2)",
                    f"T.serial(1, {last} % 5)",
                ]
            )
            w.add(f"for {counter} in {header}:")
        with w.indented():
            w.counters.append(Value(counter, "int32", 40))
            if is_while:
                w.add(f"{counter} += 1")
            if w.random.random() < 0.4:
                w.add(f"if {make.condition(1)}:")
                w.add(f"    {w.random.choice(['break', 'continue'])}")
            term = stored(make.value(1), tile.dtype)
            if term.dtype != "bool":
                w.add(f"{total} += {term.text}")
        w.add(f"{tile.name}[{', '.join(names.values())}] = {total}")
    return True
