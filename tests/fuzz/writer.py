"""What a random program consists of while it is written: dimensions, tensors, tiles, lines."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.fuzz.exact import LARGE, SMALL, Value, is_integer, widest

EXTENTS = (1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 20, 24, 32, 33)
# The elements of one tile, so that programs run fast.
LARGEST_TILE = 1500
FLOATS = ("float32", "float32", "float16", "bfloat16", "float64")
NARROW = ("float8_e4m3fn", "float8_e5m2")
INTEGERS = ("int32", "int32", "int8", "int16", "int64", "uint8", "uint32", "uint16")


@dataclass(frozen=True)
class Dim:
    """A dimension of the problem: one block of it is a tile's extent, all of it a tensor's."""

    letter: str
    block: int
    extent: int
    # The name of its grid variable; "" for dimensions that one program goes through.
    grid: str = ""
    # A size that the launch knows only.
    is_dynamic: bool = False

    @property
    def blocks(self) -> int:
        return -(-self.extent // self.block)

    @property
    def block_name(self) -> str:
        return f"block_{self.letter}"


@dataclass(frozen=True)
class Axis:
    """A tensor's axis: the whole dimension, one element for each of its blocks, or a few slices."""

    dim: Dim | None
    kind: str = "extent"  # or "blocks" or "slices"
    slices: int = 1

    @property
    def text(self) -> str:
        if self.dim is None:
            return str(self.slices)
        if self.kind == "blocks":
            return f"T.ceildiv({self.dim.letter}, {self.dim.block_name})"
        return self.dim.letter

    @property
    def size(self) -> int:
        if self.dim is None:
            return self.slices
        return self.dim.blocks if self.kind == "blocks" else self.dim.extent


@dataclass(eq=False)
class Tensor:
    name: str
    axes: tuple[Axis, ...]
    dtype: str
    role: str  # "input", "output", "rough" or "atomic" and the operation
    # Whether it may hold what a large tile holds.
    is_large: bool = False

    @property
    def dims(self) -> tuple[Dim, ...]:
        return tuple(a.dim for a in self.axes if a.dim is not None and a.kind == "extent")


@dataclass(eq=False)
class TileName:
    name: str
    dims: tuple[Dim, ...]
    dtype: str
    is_large: bool = False
    is_rough: bool = False
    # What may still be added to it, so that sums stay exact.
    budget: float = 0

    @property
    def limits(self) -> tuple[int, int] | None:
        if self.dtype not in SMALL:
            return None
        return (LARGE if self.is_large else SMALL)[self.dtype]

    def value(self, text: str) -> Value:
        bound, grain = self.limits or (widest(self.dtype), 0)
        return Value(text, self.dtype, bound, grain)


@dataclass
class Writer:
    """The lines so far and the names that the next line may use."""

    random: random.Random
    lines: list[str] = field(default_factory=list)
    depth: int = 2
    dims: dict[str, Dim] = field(default_factory=dict)
    tensors: list[Tensor] = field(default_factory=list)
    tiles: list[TileName] = field(default_factory=list)
    ready: set[str] = field(default_factory=set)
    # Run-time scalars by name: parameters and variables with what they may hold.
    scalars: list[Value] = field(default_factory=list)
    variables: list[Value] = field(default_factory=list)
    counters: list[Value] = field(default_factory=list)
    # Where in a dimension the program is, for dimensions that a loop goes through.
    offsets: dict[str, str] = field(default_factory=dict)
    # How often the statement that is written runs at most.
    runs: int = 1
    # Tensors that this T.Kernel writes: other programs' parts of them are not read.
    written: set[str] = field(default_factory=set)
    names: dict[str, int] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    # What may leave the innermost loop, or the program: nothing does outside of loops.
    jumps: tuple[str, ...] = ()
    macros: list[str] = field(default_factory=list)

    def add(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    @contextmanager
    def indented(self) -> Iterator[None]:
        """A block: what it makes ready may not be so after it, what it declares is gone."""
        ready, tiles = set(self.ready), list(self.tiles)
        variables, counters, offsets = list(self.variables), list(self.counters), dict(self.offsets)
        runs, jumps, start = self.runs, self.jumps, len(self.lines)
        self.depth += 1
        yield
        if len(self.lines) == start:
            self.add("pass")
        self.depth -= 1
        self.ready, self.tiles, self.runs, self.jumps = ready, tiles, runs, jumps
        self.variables, self.counters, self.offsets = variables, counters, offsets

    def fresh(self, stem: str) -> str:
        number = self.names.get(stem, 0)
        self.names[stem] = number + 1
        return f"{stem}{number}"

    def offset(self, dim: Dim) -> str:
        """Where the program's block of a dimension starts."""
        if dim.grid:
            return dim.grid if dim.block == 1 else f"{dim.grid} * {dim.block_name}"
        return self.offsets.get(dim.letter, "0")

    def grid_dims(self) -> list[Dim]:
        return [dim for dim in self.dims.values() if dim.grid]

    # Tensors

    def any_dtype(self) -> str:
        roll = self.random.random()
        if roll < 0.5:
            return self.random.choice(FLOATS)
        if roll < 0.58:
            return self.random.choice(NARROW)
        return "bool" if roll < 0.62 else self.random.choice(INTEGERS)

    def input_of(self, dims: tuple[Dim, ...], dtype: str | None = None) -> Tensor:
        """A tensor that can be read, with these dimensions in this order and perhaps others."""
        found = [
            tensor
            for tensor in self.tensors
            if _in_order(dims, tensor.dims)
            and tensor.name not in self.written
            and tensor.role in ("input", "output")
            and not tensor.is_large
            and (dtype is None or tensor.dtype == dtype)
        ]
        if found and (self.random.random() < 0.6 or len(self.tensors) > 9):
            return self.random.choice(found)
        axes = [Axis(dim) for dim in dims]
        if len(axes) < 4 and self.random.random() < 0.25:
            spare = [d for d in self.dims.values() if d not in dims]
            extra = Axis(None, "slices", self.random.randint(1, 3))
            if spare and self.random.random() < 0.6:
                extra = Axis(self.random.choice(spare), self.random.choice(["extent", "blocks"]))
            axes.insert(self.random.randint(0, len(axes)), extra)
        return self.declare("A", tuple(axes), dtype or self.any_dtype(), "input")

    def declare(self, stem: str, axes: tuple[Axis, ...], dtype: str, role: str) -> Tensor:
        tensor = Tensor(self.fresh(stem), axes or (Axis(None),), dtype, role)
        self.tensors.append(tensor)
        return tensor

    def own_part(
        self, dims: tuple[Dim, ...], dtype: str, role: str, is_large: bool = False
    ) -> Tensor:
        """A tensor in which each program has a part of its own with these dimensions."""
        others = [Axis(dim, "blocks") for dim in self.grid_dims() if dim not in dims]
        axes = (*others, *(Axis(dim) for dim in dims))
        found = [
            t
            for t in self.tensors
            if t.role == role and t.dtype == dtype and t.axes == (axes or (Axis(None),))
        ]
        if found and self.random.random() < 0.5:
            tensor = self.random.choice(found)
        else:
            tensor = self.declare("R" if role == "rough" else "O", axes, dtype, role)
        tensor.is_large |= is_large
        self.written.add(tensor.name)
        return tensor

    # Tiles

    def new_tile(
        self, dims: tuple[Dim, ...], dtype: str, large: bool = False, rough: bool = False
    ) -> TileName:
        tile = TileName(self.fresh("r" if rough else "t"), dims, dtype, large, rough)
        shape = ", ".join(d.block_name for d in dims) or "1"
        comma = "," if len(dims) < 2 else ""
        scope = self.random.choice(["shared", "fragment"])
        kind = f"T.{dtype}" if self.random.random() < 0.3 else f'"{dtype}"'
        self.add(f"{tile.name} = T.alloc_{scope}(({shape}{comma}), {kind})")
        if tile.limits is not None:
            tile.budget = tile.limits[0] / 2 if large else 0
        self.tiles.append(tile)
        return tile

    def readable_tiles(self) -> list[TileName]:
        return [t for t in self.tiles if t.name in self.ready and not t.is_rough]

    def some_dims(self, least: int = 1, most: int = 3) -> tuple[Dim, ...]:
        """Distinct dimensions whose blocks make a tile of a size that is run fast."""
        pool = list(self.dims.values())
        self.random.shuffle(pool)
        chosen: list[Dim] = []
        elements = 1
        count = self.random.choice([c for c in (1, 2, 2, 2, 3) if least <= c <= most] or [least])
        for dim in pool:
            if len(chosen) < count and elements * dim.block <= LARGEST_TILE:
                chosen.append(dim)
                elements *= dim.block
        return tuple(chosen)

    def has_room(self, tile: TileName, bound: float) -> bool:
        """Whether so much may be added to the tile as often as the statement runs; takes it."""
        if is_integer(tile.dtype):
            return True
        if not tile.is_large or bound * self.runs > tile.budget:
            return False
        tile.budget -= bound * self.runs
        return True


def _in_order(some: tuple[Dim, ...], all_of_them: tuple[Dim, ...]) -> bool:
    rest = iter(all_of_them)
    return all(dim in rest for dim in some)
