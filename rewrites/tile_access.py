"""Which tiles a statement needs, fills and changes, taken as one step."""

import ast
from dataclasses import dataclass

from rewrites.changes import changed_names
from rewrites.facts import Facts
from rewrites.hoist_first_values import Flow


@dataclass(frozen=True)
class TileAccess:
    """Tiles by name: whose old values matter, which get a new value as a whole, and at all."""

    needs: frozenset[str]
    fills: frozenset[str]
    changes: frozenset[str]

    @property
    def names(self) -> frozenset[str]:
        return self.needs | self.changes


def tile_access(statement: ast.stmt, facts: Facts) -> TileAccess:
    """The accesses of a statement without blocks, or of a whole T.Parallel loop."""
    flow = Flow(facts)
    tiles = {name: ast.Pass() for name in facts.tiles}
    flow.declared = dict(tiles)
    fills = flow.statement(statement, set())
    needs = {name for name, marker in tiles.items() if marker in flow.needed}
    changes = changed_names(statement, facts) & facts.tiles.keys()
    return TileAccess(frozenset(needs), frozenset(fills), frozenset(changes))
