"""Find accesses of different threads to one memory that no barrier puts in an order."""

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from rewrites.barriers import effect_of
from rewrites.errors import refuse
from rewrites.facts import Facts
from rewrites.happened_before import Barrier, Record, Records, met, race, touched
from rewrites.nodes import Blank, Comment
from rewrites.ranges import Range
from rewrites.role_memory import memory_of_all
from rewrites.role_places import Known, Touch, storage_of, touches
from rewrites.threads import threads_of
from rewrites.tree import base_name, index_list, names_in, operator_call, walk

_DONE = {"write": "written", "read": "read"}


class Races:
    """The accesses of a T.Kernel block to what several groups of its threads use."""

    def __init__(self, block: ast.With, everybody: int, facts: Facts) -> None:
        self.facts = facts
        self.everybody = everybody
        self.fixed = frozenset(facts.scalars) | names_in(block.items[0].optional_vars or ast.Pass())
        statements = [
            node
            for node in walk(ast.Module(block.body, []))
            if isinstance(node, ast.stmt) and not isinstance(node, (Comment, Blank))
        ]
        masks = {threads_of(statement, everybody) for statement in statements} | {everybody}
        self._bits = _shared_out(sorted(masks))
        self.memory = self._disputed(block, statements)
        # Who arrives at each barrier.
        self.arrivals: dict[str, set[int]] = {}
        for statement in statements:
            effect = effect_of(statement, facts)
            if effect is not None and not effect.is_wait:
                self.arrivals.setdefault(effect.name, set()).add(self.who(statement))

    def who(self, statement: ast.stmt) -> int:
        """The groups of threads that run a statement."""
        return self._bits[threads_of(statement, self.everybody)]

    def _disputed(self, block: ast.With, statements: list[ast.stmt]) -> frozenset[str]:
        """The memory that some threads write and others use."""
        shared = memory_of_all(block, self.facts)
        users: dict[str, set[int]] = {}
        written: set[str] = set()
        for statement in statements:
            header = _header(statement)
            for touch in self._touches(header, Known()):
                if touch.storage in shared:
                    users.setdefault(touch.storage, set()).add(self.who(statement))
                    if touch.writes:
                        written.add(touch.storage)
        return frozenset(name for name in written if len(users[name]) > 1)

    def _touches(self, header: ast.stmt | None, known: Known) -> Iterator[Touch]:
        if header is not None:
            yield from touches(header, known, self.facts)

    def follow(
        self, statement: ast.stmt, records: Records, known: Known, landing: Barrier | None
    ) -> Records:
        """The records behind the statement itself, or behind its header if it has blocks.

        `landing` is the barrier that tells when the statement's writes are there.
        """
        who = self.who(statement)
        if operator_call(statement, "sync_threads") is not None:
            return met(records, who)
        for touch in self._touches(_header(statement), known):
            if touch.storage in self.memory:
                earlier = race(records, who, touch)
                if earlier is not None:
                    raise self._refused(statement, touch, earlier)
                line = getattr(statement, "lineno", 0)
                late = landing if touch.writes else None
                records = touched(records, who, touch, line, late)
        return records

    def _refused(self, statement: ast.stmt, touch: Touch, earlier: Record) -> Exception:
        node = getattr(statement, "test", None) or getattr(statement, "iter", None) or statement
        assert isinstance(earlier.what, Touch)
        does, did = ("write" if one.writes else "read" for one in (touch, earlier.what))
        return refuse(
            node,
            "T2T709",
            f"`{touch.name}` may be {_DONE[does]} here while line {earlier.line} {did}s "
            f"`{earlier.what.name}`, which may be the same elements, and no barrier puts the two "
            "in an order",
            (),
            "let these wait: T.alloc_barrier, T.barrier_arrive behind the other access, "
            "T.barrier_wait before this one",
        )

    def indices(self, statement: ast.stmt) -> Iterator[ast.expr]:
        """The indices of tiles that decide which memory a statement touches."""
        for node in walk(statement):
            if isinstance(node, ast.Subscript) and base_name(node) in self.facts.tiles:
                if storage_of(base_name(node), self.facts) in self.memory:
                    for index in index_list(node):
                        parts = (
                            [index.lower, index.upper] if isinstance(index, ast.Slice) else [index]
                        )
                        yield from (part for part in parts if part is not None)

    def known(
        self, values: Mapping[str, Any], lets: Mapping[str, ast.expr], ranges: Mapping[str, Range]
    ) -> Known:
        """What the names stand for where a statement is."""
        return Known(values, lets, ranges, self.fixed)


def _header(statement: ast.stmt) -> ast.stmt | None:
    """What a statement does besides its blocks."""
    match statement:
        case ast.For(iter=tree) | ast.While(test=tree) | ast.If(test=tree):
            return ast.copy_location(ast.Expr(tree), statement)
        case ast.With() | Comment() | Blank():
            return None
    return statement


def _shared_out(masks: list[int]) -> dict[int, int]:
    """Sets of threads as sets of the fewest groups that no set divides."""
    groups = {masks[-1]}
    for mask in masks:
        groups = {part for group in groups for part in (group & mask, group & ~mask) if part}
    ordered = sorted(groups)
    return {
        mask: sum(1 << at for at, group in enumerate(ordered) if group & mask) for mask in masks
    }
