"""Products in flight: which there are, and how they are waited for."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from rewrites.gluon.sites import Sites
from rewrites.quote import expr, name, place, stmts


@dataclass
class Flight:
    """A product in flight: its sum, and what it reads.

    That is factors in `registers`, and in `memories` those that are computed; slots of `tiles` go
    back behind it.
    """

    sum: str
    registers: list[str] = field(default_factory=list)
    reads: set[str] = field(default_factory=set)
    tiles: list[str] = field(default_factory=list)
    memories: list[str] = field(default_factory=list)


@dataclass
class Flights:
    """The products of a consumer that are in flight, oldest first; they end in this order."""

    sites: Sites
    flying: list[Flight] = field(default_factory=list)

    def reading(self, tile: str) -> Flight | None:
        """The last product in flight that reads a tile."""
        return next((one for one in reversed(self.flying) if tile in one.reads), None)

    def finished(self, names: set[str], statement: ast.stmt) -> list[ast.stmt]:
        """Wait until the products are done that set, or read, one of these names."""
        return self._through(
            statement,
            [bool(one.sum in names or names & set(one.registers)) for one in self.flying],
        )

    def written(self, memory: str, statement: ast.stmt) -> list[ast.stmt]:
        """Wait until nothing reads a factor in memory, which is to be computed anew."""
        return self._through(statement, [memory in one.memories for one in self.flying])

    def drained(self, statement: ast.stmt) -> list[ast.stmt]:
        """Wait for all products."""
        return self._through(statement, [True for _ in self.flying])

    def _through(self, statement: ast.stmt, wanted: list[bool]) -> list[ast.stmt]:
        """Wait for the products up to the last that is wanted, and give their slots back."""
        count = max((at + 1 for at, is_wanted in enumerate(wanted) if is_wanted), default=0)
        if not count:
            return []
        done, self.flying = self.flying[:count], self.flying[count:]
        sums = list(dict.fromkeys(flight.sum for flight in done))
        registers = [one for flight in done for one in flight.registers]
        made = self.waited(len(self.flying), sums, registers)
        for flight in done:
            for tile in flight.tiles:
                made += stmts(f"mbarrier.arrive({self.sites.empty(tile)}, count=1)")
        return [place(one, statement) for one in made]

    def waited(
        self, pending: int, sums: list[str], registers: Sequence[str] = ()
    ) -> list[ast.stmt]:
        """Let so many products stay in flight; others have read what they read from registers.

        Each four warps wait for their own part of a product. Where there are more, memory may be
        written again only when all of them have.
        """
        targets = [*sums, *(f"_{one}" for one in registers)]
        made = expr(
            "warpgroup_mma_wait(pending, deps=depended)",
            pending=ast.Constant(pending),
            depended=ast.List([name(one) for one in (*sums, *registers)], ast.Load()),
        )
        target: ast.expr = name(targets[0])
        if len(targets) > 1:
            target = ast.Tuple([name(one) for one in targets], ast.Store())
        together = stmts("sync_warps()") if self.sites.parts.warps > 4 else []
        return [ast.Assign([target], made), *together]
