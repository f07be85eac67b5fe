"""Random element-wise loops: T.Parallel with guards, lets, broadcasts, transposes and gathers."""

from dataclasses import dataclass, field

from tests.fuzz.atomics import atomic_elements
from tests.fuzz.exact import SMALL, Value, stored, widest
from tests.fuzz.expressions import Expressions
from tests.fuzz.writer import Axis, Dim, Tensor, TileName, Writer

VARIABLES = ("i", "j", "l")


@dataclass
class Loop:
    """One T.Parallel: its variables by dimension, and what it writes."""

    w: Writer
    variables: dict[Dim, str]
    written: set[str] = field(default_factory=set)
    lets: list[Value] = field(default_factory=list)

    def leaf(self) -> Value | None:
        """Something that an element can be computed from."""
        w = self.w
        kinds = [self.tile] * 5 + [self.tensor] * 2 + [self.counter] * 2 + [self.let, self.scalar]
        return w.random.choice(kinds)()

    def let(self) -> Value | None:
        return self.w.random.choice(self.lets) if self.lets else None

    def scalar(self) -> Value | None:
        known = self.w.scalars + self.w.variables + self.w.counters
        return self.w.random.choice(known) if known else None

    def counter(self) -> Value | None:
        if not self.variables:
            return None
        dim = self.w.random.choice(list(self.variables))
        return Value(self.variables[dim], "int32", dim.block)

    def tile(self) -> Value | None:
        tiles = self.w.readable_tiles()
        if not tiles:
            return None
        tile = self.w.random.choice(tiles)
        is_written = tile.name in self.written
        if is_written and not set(tile.dims) <= set(self.variables):
            return None
        return tile.value(f"{tile.name}[{', '.join(self.on_tile(tile, is_written)) or '0'}]")

    def on_tile(self, tile: TileName, plain: bool) -> list[str]:
        """Indices that stay inside of a tile: each variable once, and one of them computed."""
        w = self.w
        free = dict(self.variables)
        index: list[str] = []
        may_compute = w.random.random() < 0.3 and not plain
        for dim in tile.dims:
            own = free.pop(dim, None)
            if own and (plain or not may_compute or w.random.random() < 0.4):
                index.append(own)
                continue
            if own:
                free[dim] = own
            fitting = [d for d in free if d.block <= dim.block and d not in tile.dims]
            if own and may_compute:
                fitting = [dim]
            if fitting and may_compute:
                may_compute = False
                index.append(self.computed(free.pop(w.random.choice(fitting)), dim))
            elif fitting and w.random.random() < 0.8:
                index.append(free.pop(w.random.choice(fitting)))
            else:
                index.append(str(w.random.randrange(dim.block)))
        return index

    def computed(self, name: str, dim: Dim) -> str:
        forms = [
            f"{name} % {dim.block}",
            f"({name} + 1) % {dim.block_name}",
            f"{name} // 2",
            f"{dim.block} - 1 - {name}",
        ]
        return self.w.random.choice(forms)

    def tensor(self) -> Value | None:
        w = self.w
        known = [
            t
            for t in w.tensors
            if t.role in ("input", "output") and t.name not in w.written and not t.is_large
        ]
        if not known or w.random.random() < 0.2:
            known = [w.input_of(tuple(self.variables) or w.some_dims(most=1))]
        tensor = w.random.choice(known)
        index = [self.on_tensor(axis) for axis in tensor.axes]
        return tensor_value(tensor, f"{tensor.name}[{', '.join(index)}]")

    def on_tensor(self, axis: Axis) -> str:
        """An index that may lie outside of the tensor."""
        w = self.w
        dim = axis.dim
        roll = w.random.random()
        own = self.variables.get(dim) if dim is not None else None
        if own and dim is not None and axis.kind == "extent" and roll < 0.75:
            start = w.offset(dim)
            index = own if start == "0" else f"{start} + {own}"
            return f"{index} + 1" if roll < 0.08 else index
        if dim is not None and axis.kind == "blocks":
            return dim.grid or "0"
        gathered = [
            t
            for t in w.readable_tiles()
            if t.dtype in ("int32", "int64")
            and t.name not in self.written
            and set(t.dims) <= set(self.variables)
        ]
        if gathered and roll < 0.9:
            tile = w.random.choice(gathered)
            return f"{tile.name}[{', '.join(self.variables[d] for d in tile.dims) or '0'}]"
        if roll < 0.95 and self.variables:
            name = w.random.choice(list(self.variables.values()))
            return w.random.choice([name, f"{name} * 2", f"{name} // 3", f"{name} - 1"])
        return str(w.random.randrange(axis.size if dim is None or not dim.is_dynamic else 1))


def tensor_value(tensor: Tensor, text: str) -> Value:
    bound, grain = SMALL.get(tensor.dtype) or (widest(tensor.dtype), 0)
    return Value(text, tensor.dtype, bound, grain)


def parallel(w: Writer) -> bool:
    """A T.Parallel over the dimensions of a tile or of an output's part."""
    tiles = [t for t in w.tiles if t.dims and (t.name in w.ready or w.random.random() < 0.5)]
    if not tiles or w.random.random() < 0.15:
        tiles = [w.new_tile(w.some_dims(), w.any_dtype(), rough=False)]
    main = w.random.choice(tiles)
    dims = list(main.dims)
    if w.random.random() < 0.3:
        w.random.shuffle(dims)
    names = dict(zip(dims, VARIABLES, strict=False))
    extents = ", ".join(dim.block_name for dim in dims)
    loop = Loop(w, names)
    w.add(f"for {', '.join(names.values())} in T.Parallel({extents}):")
    makes_ready = set()
    with w.indented():
        if w.random.random() < 0.25:
            let(loop)
        makes_ready |= store(loop, main)
        for _ in range(w.random.choice([0, 0, 0, 1, 2])):
            w.random.choice([let, more, global_store, atomic_elements])(loop)
    w.ready |= makes_ready
    return True


def let(loop: Loop) -> None:
    value = Expressions(loop.w.random, loop.leaf).value(1)
    if value.dtype == "bool":
        return
    name = loop.w.fresh("x")
    loop.w.add(f"{name} = {value.text}")
    if _varies(value.text):
        loop.lets.append(Value(name, value.dtype, value.bound, value.grain))


def _varies(text: str) -> bool:
    return any(mark in text for mark in "[ijl")


def more(loop: Loop) -> None:
    """One more store, to another tile of the same dimensions."""
    others = [
        t
        for t in loop.w.tiles
        if set(t.dims) == set(loop.variables) and t.name in loop.w.ready and not t.is_rough
    ]
    if others:
        loop.w.ready |= store(loop, loop.w.random.choice(others))


def element(loop: Loop, tile: TileName) -> str:
    return f"{tile.name}[{', '.join(loop.variables[d] for d in tile.dims)}]"


def store(loop: Loop, tile: TileName) -> set[str]:
    """Stores to the tile's elements; the names of the tiles that have all of theirs afterwards."""
    w = loop.w
    make = Expressions(w.random, loop.leaf)
    place = element(loop, tile)
    readable = tile.name in w.ready
    loop.written.add(tile.name)

    def assignment(depth: int) -> str:
        if tile.is_rough:
            return f"{place} = {make.rough(depth)}"
        value = make.value(depth)
        if readable and w.random.random() < 0.15 and tile.limits is None and tile.dtype != "bool":
            operator = w.random.choice(["+=", "-=", "*="])
            if not value.is_float and value.dtype == tile.dtype:
                return f"{place} {operator} {value.text}"
        return f"{place} = {stored(value, tile.dtype, tile.limits).text}"

    if w.random.random() < 0.35 and (readable or w.random.random() < 0.3):
        w.add(f"if {make.condition(1)}:")
        with w.indented():
            w.add(assignment(2))
        if not readable or w.random.random() < 0.4:
            w.add("else:")
            with w.indented():
                w.add(assignment(2))
    else:
        w.add(assignment(3))
    w.ready.add(tile.name)
    return {tile.name}


def global_store(loop: Loop) -> None:
    """A store to the program's own elements of an output."""
    w = loop.w
    dims = tuple(loop.variables)
    dtype = w.any_dtype()
    tensor = w.own_part(dims, dtype, "output")
    index = []
    for axis in tensor.axes:
        if axis.dim is None:
            index.append("0")
        elif axis.kind == "blocks":
            index.append(axis.dim.grid or "0")
        else:
            start, name = w.offset(axis.dim), loop.variables[axis.dim]
            index.append(name if start == "0" else f"{start} + {name}")
    make = Expressions(w.random, loop.leaf)
    guard = w.random.random() < 0.3
    if guard:
        w.add(f"if {make.condition(1)}:")
    line = f"{tensor.name}[{', '.join(index)}] = {stored(make.value(2), dtype).text}"
    w.add("    " * guard + line)


def through_view(w: Writer) -> bool:
    """A tile known by a second shape: elements written by one are read by the other."""
    tiles = [
        t for t in w.readable_tiles() if len(t.dims) == 2 and t.dtype != "bool" and not t.is_large
    ]
    if not tiles:
        return False
    tile = w.random.choice(tiles)
    rows, columns = tile.dims
    name = w.fresh("w")
    size = f"{rows.block_name} * {columns.block_name}"
    shapes = [(size,), (columns.block_name, rows.block_name), ("1", size)]
    shape = w.random.choice(shapes)
    comma = "," if len(shape) == 1 else ""
    function = w.random.choice(["reshape", "view"])
    w.add(f"{name} = T.{function}({tile.name}, ({', '.join(shape)}{comma}))")
    names = VARIABLES[: len(shape)]
    extents = shape if len(shape) > 1 else (f"{rows.block * columns.block}",)
    w.add(f"for {', '.join(names)} in T.Parallel({', '.join(extents)}):")
    with w.indented():
        place = f"{name}[{', '.join(names)}]"
        make = Expressions(w.random, Loop(w, {}).scalar)
        value = Value(place, tile.dtype, *(tile.limits or (widest(tile.dtype), 0)))
        change = Value(
            f"T.if_then_else({make.condition(1)}, {place}, {names[-1]} % 3)",
            tile.dtype,
            value.bound,
            value.grain,
        )
        w.add(f"{place} = {stored(change, tile.dtype, tile.limits).text}")
    return True


def nested(w: Writer) -> bool:
    """A serial loop and a variable of each element inside of a T.Parallel."""
    tiles = [t for t in w.readable_tiles() if t.dims and t.dtype in ("int32", "float32")]
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
        w.add(f"for {counter} in {w.random.choice(['T.serial(3)', 'range(2)'])}:")
        with w.indented():
            w.counters.append(Value(counter, "int32", 3))
            term = stored(make.value(1), tile.dtype, (8, 1) if tile.limits else None)
            if term.dtype != "bool":
                w.add(f"{total} += {term.text}")
        w.add(f"{element(loop, tile)} = {total}")
    return True


def update(w: Writer) -> bool:
    """`t[i] += …` in a loop over more dimensions than the tile has: the terms add up."""
    tiles = [t for t in w.readable_tiles() if len(t.dims) == 1 and t.dtype != "bool"]
    tiles = [t for t in tiles if t.limits is None or t.is_large]
    spare = list(w.dims.values())
    if not tiles:
        return False
    tile = w.random.choice(tiles)
    other = w.random.choice(spare)
    if other in tile.dims or other.block * tile.dims[0].block > 1500:
        return False
    loop = Loop(w, {tile.dims[0]: "i", other: "j"}, written={tile.name})
    make = Expressions(w.random, loop.leaf)
    w.add(f"for i, j in T.Parallel({tile.dims[0].block_name}, {other.block_name}):")
    with w.indented():
        value = _without(make, tile.name)
        if tile.limits is not None:
            value = stored(value, tile.dtype)
            if not w.has_room(tile, SMALL[tile.dtype][0] * other.block):
                value = Value("0", "int32", 0)
        elif value.is_float:
            value = stored(value, tile.dtype)
        guard = w.random.random() < 0.3
        if guard:
            w.add(f"if {_condition_without(make, tile.name)}:")
        w.add("    " * guard + f"{tile.name}[i] += {value.text}")
    return True


def _without(make: Expressions, name: str) -> Value:
    """An expression that does not read the tile that all iterations add to."""
    for _ in range(8):
        value = make.value(2)
        if f"{name}[" not in value.text and value.dtype != "bool":
            return value
    return Value("j", "int32", 40)


def _condition_without(make: Expressions, name: str) -> str:
    for _ in range(8):
        text = make.condition(1)
        if f"{name}[" not in text:
            return text
    return "i > j"
