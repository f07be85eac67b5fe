"""How rings, tiles, and barriers are called, and the statements that use them."""

import ast
from dataclasses import dataclass

from rewrites.facts import Descriptor
from rewrites.gluon.layouts import in_gluon
from rewrites.gluon.parts import Parts
from rewrites.gluon.ranges import Chain
from rewrites.gluon.rings import Load, Ring
from rewrites.quote import copy_tree, expr, name, stmts


@dataclass
class Sites:
    """The names in one kernel's functions."""

    parts: Parts
    is_persistent: bool = False

    def __post_init__(self) -> None:
        fresh = self.parts.names.fresh
        self.names = self.parts.names
        self.part = fresh("part")
        # What the producer counts its turns with.
        self.loaded = ""
        self._slot = fresh("slot")
        self._slots = {one: fresh(f"{one}_slot") for one in self.parts.rings}
        self.stages = fresh("stages")
        self._rings = {one: fresh(f"{one}_ring") for one in self.parts.rings}
        self._full = {one: fresh(f"{one}_full") for one in self._all()}
        self._empty = {one: fresh(f"{one}_empty") for one in self.parts.rings}
        self._turns = {one: fresh(f"{one}_turn") for one in self.parts.rings}
        self._tiles = {one: fresh(f"{one}_tile") for one in self.parts.once}
        self._staged: dict[str, str] = {}
        self._computed: dict[str, tuple[str, ast.expr]] = {}

    def _all(self) -> list[str]:
        return [*self.parts.rings, *self.parts.once]

    @property
    def counters(self) -> set[str]:
        """What counts turns."""
        return {self.loaded, *self._turns.values()}

    def turn(self, variable: str) -> str:
        return self._turns[variable]

    def slot(self, variable: str, turn: ast.expr | None = None) -> ast.expr:
        """Where a ring has the tile of a turn."""
        turn = turn or name(self._turns[variable])
        slot = expr("turn % stages", turn=turn, stages=self.stages)
        if self.parts.rings[variable].is_shared or self.parts.consumers == 1:
            return slot
        return expr("part * stages + slot", part=self.part, stages=self.stages, slot=slot)

    def awaited(self, load: Load) -> list[ast.stmt]:
        """Wait for the tile of a turn."""
        made = stmts(
            "slot = where\nmbarrier.wait(full.index(slot), (turn // stages) & 1)\ntile = view",
            slot=self.slot_name(load.name),
            where=self.slot(load.name),
            full=self._full[load.name],
            turn=self.turn(load.name),
            stages=self.stages,
            tile=load.name,
            view=self.view(
                load, expr("r.index(s)", r=self._rings[load.name], s=self.slot_name(load.name))
            ),
        )
        return [*made, *stmts("turn += 1", turn=self.turn(load.name))]

    def slot_name(self, variable: str) -> str:
        return self._slots[variable]

    def empty(self, variable: str) -> str:
        return f"{self._empty[variable]}.index({self.slot_name(variable)})"

    def returned(self, variable: str, ago: int, test: ast.expr) -> list[ast.stmt]:
        """Give back the slot of the last turn, or of the one before, if there was one."""
        turn = self.turn(variable)
        before = expr("turn - ago", turn=turn, ago=ast.Constant(ago))
        slot = self.slot(variable, before)
        return stmts(
            "mbarrier.arrive(empty.index(slot), count=1, pred=test)",
            empty=self._empty[variable],
            slot=slot,
            test=test,
        )

    def view(self, load: Load, memory: ast.expr) -> ast.expr:
        """A tile as products read it."""
        if load.shape is None:
            return memory
        extents = ast.List([copy_tree(one) for one in load.shape], ast.Load())
        return expr("x.reshape(extents)", x=memory, extents=extents)

    def fetched(self, load: Load) -> list[ast.stmt]:
        """Begin to load a tile that is needed once."""
        return stmts(
            "mbarrier.expect(full.index(part), desc.block_type.nbytes)\n"
            "load_tile(desc, coordinates, full.index(part), tile.index(part))",
            full=self._full[load.name],
            part=self.part,
            desc=load.descriptor,
            coordinates=self.gluon_list(load.coordinates),
            tile=self._tiles[load.name],
        )

    def arrived(self, load: Load) -> list[ast.stmt]:
        """Wait for a tile that is needed once."""
        return stmts(
            "mbarrier.wait(full.index(part), 0)\nname = view",
            full=self._full[load.name],
            part=self.part,
            name=load.name,
            view=self.view(load, expr("t.index(p)", t=self._tiles[load.name], p=self.part)),
        )

    def gluon_list(self, trees: tuple[ast.expr, ...]) -> ast.expr:
        return ast.List([in_gluon(one) for one in trees], ast.Load())

    def stored(self, owner: str, coordinates: ast.expr, value: ast.expr) -> list[ast.stmt]:
        """Store a tile from shared memory, and wait until it has been read.

        A persistent program waits before it writes there again, and multiplies until then.
        """
        staged = self._staged.setdefault(
            owner, self.names.fresh(f"{owner.removesuffix('_desc')}_tile")
        )
        shape = list(self.parts.descriptors[owner].block[-2:])
        memory: ast.expr = expr("t.index(p)", t=staged, p=self.part)
        view = memory
        if len(self.parts.descriptors[owner].block) > 2:
            extents = ast.List([copy_tree(one) for one in shape], ast.Load())
            view = expr("x.reshape(extents)", x=copy_tree(memory), extents=extents)
        lines = [
            "view.store(value)",
            "fence_async_shared()",
            "store_tile(desc, coordinates, memory)",
        ]
        lines.insert(0 if self.is_persistent else 3, "tma.store_wait(0)")
        return stmts(
            "\n".join(lines),
            view=view,
            value=value,
            desc=owner,
            coordinates=in_gluon(coordinates),
            memory=memory,
        )

    def memory(self, variable: str, value: ast.expr) -> ast.expr:
        """Where a factor lies that each consumer computes; `value` is a name, or a cast of one."""
        if variable not in self._computed:
            kind = self.parts.factor_dtype(value)
            called = self.names.fresh(f"{variable}_tile")
            self._computed[variable] = called, expr(f"gl.{kind}")
        return expr("t.index(p)", t=self._computed[variable][0], p=self.part)

    def passed(self, chain: Chain, is_first: bool) -> list[ast.stmt]:
        """Give back the tiles of turns that only other consumers have."""
        body: list[ast.stmt] = []
        for one in self.parts.rings:
            body += stmts(
                "slot = where\n"
                "mbarrier.wait(full.index(slot), (turn // stages) & 1)\n"
                "mbarrier.arrive(empty.index(slot), count=1)\n"
                "turn += 1",
                slot=self.slot_name(one),
                where=self.slot(one),
                full=self._full[one],
                empty=self._empty[one],
                turn=self._turns[one],
                stages=self.stages,
            )
        return chain.passed(body, next(iter(self._turns.values())), is_first)

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
        for one, (called, kind) in self._computed.items():
            made += self._factor_memory(called, kind, self.parts.tile(one).trees)
        return made

    def _factor_memory(
        self, called: str, kind: ast.expr, extents: tuple[ast.expr, ...]
    ) -> list[ast.stmt]:
        shape = [copy_tree(one) for one in extents]
        layout = expr(
            "gl.NVMMASharedLayout.get_default_for(shape, kind)",
            shape=ast.List(shape, ast.Load()),
            kind=kind,
        )
        both = ast.List([ast.Constant(self.parts.consumers), *map(copy_tree, shape)], ast.Load())
        return stmts(
            "called = gl.allocate_shared_memory(kind, shape, layout)",
            called=called,
            kind=kind,
            shape=both,
            layout=layout,
        )

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
            *(called for called, _ in self._computed.values()),
            *self._full.values(),
            *self._empty.values(),
        ]

    def filled(self, ring: Ring, turn: str, part: int) -> list[ast.stmt]:
        """Load the tile of a turn when its slot is free."""
        slot: ast.expr = expr("turn % stages", turn=turn, stages=self.stages)
        if not ring.is_shared and part:
            template = "stages + slot" if part == 1 else "a * stages + slot"
            slot = expr(template, a=ast.Constant(part), stages=self.stages, slot=slot)
        return stmts(
            "slot = where\n"
            "mbarrier.wait(empty.index(slot), ((turn // stages) & 1) ^ 1)\n"
            "mbarrier.expect(full.index(slot), desc.block_type.nbytes)\n"
            "load_tile(desc, coordinates, full.index(slot), ring.index(slot))",
            slot=self._slot,
            where=slot,
            empty=self._empty[ring.name],
            turn=turn,
            stages=self.stages,
            full=self._full[ring.name],
            desc=ring.descriptor.name,
            coordinates=self.gluon_list(ring.load.coordinates),
            ring=self._rings[ring.name],
        )
