"""What a Triton kernel falls into: what a producer loads ahead, and what consumers compute."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from rewrites.dtypes import bits
from rewrites.environment import Names
from rewrites.facts import Descriptor, Facts, Launch, Tile
from rewrites.gluon.errors import UnsuitedError
from rewrites.gluon.layouts import every
from rewrites.gluon.rings import Load, Ring, is_dot, is_product_loop, load_of, reads
from rewrites.quote import copy_tree, expr, name, stmts
from rewrites.tree import names_in, walk


@dataclass
class Parts:
    """The parts of one kernel.

    `paired` is the variable of the grid of which consumers have different values, and `axis` its
    axis; `consumed` is what consumers compute, with loops rotated.
    """

    kernel: ast.FunctionDef
    launch: Launch
    facts: Facts
    consumers: int
    names: Names
    consumed: list[ast.stmt]
    rings: dict[str, Ring] = field(default_factory=dict)
    once: dict[str, Load] = field(default_factory=dict)
    loops: list[ast.For] = field(default_factory=list)
    paired: str = ""
    axis: int = 0
    dependent: set[str] = field(default_factory=set)

    @property
    def warps(self) -> int:
        return self.launch.num_warps

    @property
    def descriptors(self) -> dict[str, Descriptor]:
        return {one.name: one for one in self.launch.descriptors}

    @property
    def stages(self) -> int:
        for loop in self.loops:
            assert isinstance(loop.iter, ast.Call)
            for word in loop.iter.keywords:
                if word.arg == "num_stages" and isinstance(word.value, ast.Constant):
                    return max(2, int(word.value.value))
        return 2

    @property
    def depth(self) -> int:
        """How many elements of the summed dimension one instruction takes."""
        (found,) = {bits(self.dtype(one.descriptor.name)) for one in self.rings.values()}
        return 256 // found

    @property
    def width(self) -> int:
        """How many elements of a factor in registers lie beside each other."""
        return self.depth // 8

    def dtype(self, descriptor: str) -> str:
        return self.facts.tensors[self.descriptors[descriptor].tensor].dtype

    def tile(self, variable: str) -> Tile:
        tile = self.facts.tiles.get(variable)
        if tile is None or tile.rank != 2:
            raise UnsuitedError(f"`{variable}` is no tile of two dimensions")
        return tile

    def is_loaded(self, variable: str) -> bool:
        return variable in self.rings or variable in self.once


def parts_of(
    kernel: ast.FunctionDef, launch: Launch, facts: Facts, consumers: int, consumed: list[ast.stmt]
) -> Parts:
    """The parts of a kernel. Raises UnsuitedError."""
    names = Names.of(kernel, facts)
    names.used |= {"gl", "mbarrier", "tma", "part", "turn"}
    parts = Parts(kernel, launch, facts, consumers, names, consumed)
    if launch.num_warps % 4:
        raise UnsuitedError("wgmma takes four warps")
    parts.loops = [one for one in kernel.body if isinstance(one, ast.For) and is_product_loop(one)]
    if not parts.loops:
        raise UnsuitedError("no loop of the kernel has products")
    if consumers > 1:
        _choose_axis(parts)
    _find_rings(parts)
    return parts


def _choose_axis(parts: Parts) -> None:
    """The axis of the grid along which consumers stand, which lets them share most loads."""
    best: tuple[int, int] | None = None
    for variable, axis in _grid_variables(parts.kernel):
        dependent = dependents(parts.kernel.body, {variable})
        moved = 0
        for loop in parts.loops:
            for statement in loop.body:
                load = load_of(statement)
                if load is not None:
                    copies = parts.consumers if _depends(load.coordinates, dependent) else 1
                    moved += copies * _elements(parts, load)
        if best is None or (moved, -axis) < best:
            best = (moved, -axis)
            parts.paired, parts.axis, parts.dependent = variable, axis, dependent
    if best is None:
        raise UnsuitedError("the grid has no axis along which consumers could stand")


def _grid_variables(kernel: ast.FunctionDef) -> Iterator[tuple[str, int]]:
    """The variables that tell programs apart, and their axes."""
    for statement in kernel.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=target)], value=value):
                if ast.unparse(value).startswith("tl.program_id("):
                    yield target, int(ast.unparse(value)[len("tl.program_id(") : -1])


def dependents(body: list[ast.stmt], names: set[str]) -> set[str]:
    """All names whose values depend on these, other than by how far a loop goes."""
    found = set(names)
    while True:
        before = len(found)
        for statement in every(body):
            match statement:
                case ast.Assign(targets=[target], value=value):
                    if names_in(value) & found:
                        found |= names_in(target)
        if len(found) == before:
            return found


def _depends(trees: tuple[ast.expr, ...], names: set[str]) -> bool:
    return any(names_in(one) & names for one in trees)


def _elements(parts: Parts, load: Load) -> int:
    tile = parts.facts.tiles.get(load.name)
    if tile is None:
        raise UnsuitedError(f"`{load.name}` is no tile")
    total = 1
    for extent in tile.shape:
        total *= extent
    return total


def _find_rings(parts: Parts) -> None:
    """Tiles that loops load by TMA are rings; those that are loaded before or after, are not."""
    in_loops = {
        one.name: one
        for loop in parts.loops
        for statement in loop.body
        if (one := load_of(statement)) is not None
    }
    for load in in_loops.values():
        descriptor = parts.descriptors.get(load.descriptor)
        if descriptor is None:
            raise UnsuitedError(f"`{load.descriptor}` is no descriptor that the launcher makes")
        depends = _depends(load.coordinates, parts.dependent)
        parts.rings[load.name] = Ring(load, descriptor, not depends)
    if not parts.rings:
        raise UnsuitedError("no tile is loaded by TMA in a loop")
    for statement in every(parts.kernel.body):
        load = load_of(statement)
        if load is not None and load.name not in parts.rings:
            parts.once[load.name] = load
        _require_products_only(parts, statement)


def _require_products_only(parts: Parts, statement: ast.stmt) -> None:
    """Tiles in shared memory are read by products, and by nothing else."""
    match statement:
        case ast.Assign(value=value) if not is_dot(value):
            loaded = {one for one in reads(statement) if parts.is_loaded(one)}
            if loaded and load_of(statement) is None:
                raise UnsuitedError(f"`{min(loaded)}` is read by more than products")


@dataclass
class Sites:
    """How rings, tiles, and barriers are called, and the statements that use them."""

    parts: Parts

    def __post_init__(self) -> None:
        fresh = self.parts.names.fresh
        self.names = self.parts.names
        self.part = "part"
        self.stages = fresh("stages")
        self._rings = {one: fresh(f"{one}_ring") for one in self.parts.rings}
        self._full = {one: fresh(f"{one}_full") for one in self._all()}
        self._empty = {one: fresh(f"{one}_empty") for one in self.parts.rings}
        self._turns = {one: fresh(f"{one}_turn") for one in self.parts.rings}
        self._tiles = {one: fresh(f"{one}_tile") for one in self.parts.once}
        self._staged: dict[str, str] = {}

    def _all(self) -> list[str]:
        return [*self.parts.rings, *self.parts.once]

    def turn(self, variable: str) -> str:
        return self._turns[variable]

    def slot(self, variable: str, turn: str | None = None) -> ast.expr:
        """Where a ring has the tile of a turn."""
        turn = turn or self._turns[variable]
        slot = expr("turn % stages", turn=turn, stages=self.stages)
        if self.parts.rings[variable].is_shared or self.parts.consumers == 1:
            return slot
        return expr("part * stages + slot", part=self.part, stages=self.stages, slot=slot)

    def awaited(self, load: Load) -> list[ast.stmt]:
        """Wait for the tile of a turn."""
        made = stmts(
            "slot = where\n"
            "mbarrier.wait(full.index(slot), (turn // stages) & 1)\n"
            "tile = view",
            slot=self.slot_name(load.name),
            where=self.slot(load.name),
            full=self._full[load.name],
            turn=self.turn(load.name),
            stages=self.stages,
            tile=load.name,
            view=self.view(load, expr("r.index(s)", r=self._rings[load.name],
                                      s=self.slot_name(load.name))),
        )
        return [*made, *stmts("turn += 1", turn=self.turn(load.name))]

    def slot_name(self, variable: str) -> str:
        return f"{variable}_slot"

    def empty(self, variable: str) -> str:
        return f"{self._empty[variable]}.index({self.slot_name(variable)})"

    def view(self, load: Load, memory: ast.expr) -> ast.expr:
        """A tile as products read it."""
        if load.shape is None:
            return memory
        extents = ast.List([copy_tree(one) for one in load.shape], ast.Load())
        return expr("x.reshape(extents)", x=memory, extents=extents)

    def fetched(self, load: Load) -> list[ast.stmt]:
        """Load a tile that is needed once, and wait for it."""
        tile = expr("t.index(p)", t=self._tiles[load.name], p=self.part)
        return stmts(
            "mbarrier.expect(full.index(part), desc.block_type.nbytes)\n"
            "load_tile(desc, coordinates, full.index(part), tile)\n"
            "mbarrier.wait(full.index(part), 0)\n"
            "name = view",
            full=self._full[load.name],
            part=self.part,
            desc=load.descriptor,
            coordinates=self.gluon_list(load.coordinates),
            tile=tile,
            name=load.name,
            view=self.view(load, copy_tree(tile)),
        )

    def gluon_list(self, trees: tuple[ast.expr, ...]) -> ast.expr:
        return ast.List([copy_tree(one) for one in trees], ast.Load())

    def stored(self, owner: str, coordinates: ast.expr, value: ast.expr) -> list[ast.stmt]:
        """Store a tile from shared memory, and wait until it has been read."""
        staged = self._staged.setdefault(owner, self.names.fresh(f"{owner.removesuffix('_desc')}_tile"))
        shape = list(self.parts.descriptors[owner].block[-2:])
        memory: ast.expr = expr("t.index(p)", t=staged, p=self.part)
        view = memory
        if len(self.parts.descriptors[owner].block) > 2:
            extents = ast.List([copy_tree(one) for one in shape], ast.Load())
            view = expr("x.reshape(extents)", x=copy_tree(memory), extents=extents)
        return stmts(
            "view.store(value)\n"
            "fence_async_shared()\n"
            "store_tile(desc, coordinates, memory)\n"
            "tma.store_wait(0)",
            view=view,
            value=value,
            desc=owner,
            coordinates=coordinates,
            memory=memory,
        )

    def drained(self, chain: "Chain") -> list[ast.stmt]:
        """Give back the tiles of turns that only other consumers have."""
        rings = [
            (self._full[one], self._empty[one], self._turns[one]) for one in self.parts.rings
        ]
        return chain.drained(rings, self.stages)

    def allocations(self) -> list[ast.stmt]:
        """Shared memory and barriers, in the kernel."""
        made: list[ast.stmt] = []
        both = self.parts.consumers
        for one, ring in self.parts.rings.items():
            copies = 1 if ring.is_shared else both
            count = expr("stages", stages=self.stages)
            if copies > 1:
                count = expr("copies * stages", copies=ast.Constant(copies), stages=self.stages)
            made += self._memory(self._rings[one], ring.descriptor.name, count, ring.descriptor)
            made += self._barriers(self._full[one], count, 1)
            made += self._barriers(self._empty[one], count, both if ring.is_shared else 1)
        for one, load in self.parts.once.items():
            descriptor = self.parts.descriptors[load.descriptor]
            made += self._memory(self._tiles[one], load.descriptor, ast.Constant(both), descriptor)
            made += self._barriers(self._full[one], ast.Constant(both), 1)
        for owner, staged in self._staged.items():
            made += self._memory(staged, owner, ast.Constant(both), self.parts.descriptors[owner])
        return made

    def _memory(
        self, called: str, descriptor: str, count: ast.expr, made: Descriptor
    ) -> list[ast.stmt]:
        shape = ast.List([copy_tree(count), *(copy_tree(one) for one in made.block)], ast.Load())
        return stmts(
            "called = gl.allocate_shared_memory(desc.dtype, shape, desc.layout)",
            called=called,
            desc=descriptor,
            shape=shape,
        )

    def _barriers(self, called: str, count: ast.expr, arrivals: int) -> list[ast.stmt]:
        return stmts(
            "called = gl.allocate_shared_memory(gl.int64, [count, 1], mbarrier.MBarrierLayout())\n"
            "for i in gl.static_range(count):\n"
            "    mbarrier.init(called.index(i), count=arrivals)",
            called=called,
            count=copy_tree(count),
            arrivals=ast.Constant(arrivals),
        )

    @property
    def memories(self) -> list[str]:
        return [
            *self._rings.values(),
            *self._tiles.values(),
            *self._staged.values(),
            *self._full.values(),
            *self._empty.values(),
        ]

    def filled(self, ring: Ring, turn: str, part: int) -> list[ast.stmt]:
        """Load the tile of a turn when its slot is free."""
        slot: ast.expr = expr("turn % stages", turn=turn, stages=self.stages)
        if not ring.is_shared and part:
            slot = expr("a * stages + slot", a=ast.Constant(part), stages=self.stages, slot=slot)
        return stmts(
            "slot = where\n"
            "mbarrier.wait(empty.index(slot), ((turn // stages) & 1) ^ 1)\n"
            "mbarrier.expect(full.index(slot), desc.block_type.nbytes)\n"
            "load_tile(desc, coordinates, full.index(slot), ring.index(slot))",
            slot="slot",
            where=slot,
            empty=self._empty[ring.name],
            turn=turn,
            stages=self.stages,
            full=self._full[ring.name],
            desc=ring.descriptor.name,
            coordinates=self.gluon_list(ring.load.coordinates),
            ring=self._rings[ring.name],
        )


def names_read(body: list[ast.stmt]) -> set[str]:
    """All names in statements, set or read."""
    return {node.id for one in body for node in walk(one) if isinstance(node, ast.Name)} | {
        node.id for one in body for node in ast.walk(one) if isinstance(node, ast.Name)
    }


__all__ = ["Parts", "Sites", "dependents", "names_read", "parts_of", "name"]
