"""How much a program keeps in registers at once: the tiles that wait to be used."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from rewrites.dtypes import bits
from rewrites.environment import next_power_of_two
from rewrites.facts import Facts, Tile
from rewrites.tree import base_name, blocks_of, names_in, walk


@dataclass
class _Uses:
    """The numbers of the first and the last statement that names each tile."""

    first: dict[str, int] = field(default_factory=dict)
    last: dict[str, int] = field(default_factory=dict)
    count: int = 0


def live_words(block: ast.With, facts: Facts) -> tuple[int, int]:
    """The most words of 32 bits in fragments at once, and in sums of products among them.

    What one statement makes of another one's tile takes its place, element by element.
    """
    uses = _Uses()
    _follow(block.body, facts, uses)
    sums = {base_name(call) or "" for call in _sums(block, facts)}
    words = {name: _words(facts.tiles[name]) for name in uses.first}
    totals = [0] * (uses.count + 1)
    of_products = [0] * (uses.count + 1)
    for name, first in uses.first.items():
        last = max(uses.last[name], first + 1)
        for at in range(first, last):
            totals[at] += words[name]
            of_products[at] += words[name] if name in sums else 0
    return max(totals), max(of_products)


def _follow(body: list[ast.stmt], facts: Facts, uses: _Uses) -> None:
    for statement in body:
        blocks = list(blocks_of(statement))
        is_lanes = _is_lanes(statement)
        if not blocks or is_lanes:
            _use(statement, facts, uses)
            continue
        start = uses.count
        for inner in blocks:
            _follow(inner, facts, uses)
        if isinstance(statement, (ast.For, ast.While)):
            # What a loop finds when it begins is there until it ends.
            for name, first in uses.first.items():
                if first < start <= uses.last[name]:
                    uses.last[name] = uses.count


def _use(statement: ast.stmt, facts: Facts, uses: _Uses) -> None:
    match statement:
        case ast.Assign(value=ast.Call(func=ast.Attribute(attr=called))) if called.startswith(
            "alloc"
        ):
            return
    for name in names_in(statement):
        tile = facts.tiles.get(name)
        if tile is not None and facts.tiles[tile.storage].scope == "fragment":
            uses.first.setdefault(tile.storage, uses.count)
            uses.last[tile.storage] = uses.count
    uses.count += 1


def _is_lanes(statement: ast.stmt) -> bool:
    match statement:
        case ast.For(iter=ast.Call(func=ast.Attribute(attr="Parallel"))):
            return True
    return False


def _sums(block: ast.With, facts: Facts) -> Iterator[ast.expr]:
    for node in walk(block):
        match node:
            case ast.Call(func=ast.Attribute(attr="gemm")):
                yield facts.operators["gemm"].arguments(node)["C"]


def _words(tile: Tile) -> int:
    count = 1
    for extent in tile.shape:
        count *= next_power_of_two(extent)
    return count * bits(tile.dtype) // 32
