"""Put the statements of roles, which run beside each other, in one order that their waits allow.

Each role's statements keep their order. A role goes on until it comes to a wait that nothing
before satisfies, or to a loop that takes turns with another role's. Loops over the same counts are
made one loop, whose body interleaves the bodies. The order is found by looking at the first turn
of each loop; `erase_protocol` proves it for all turns, or refuses it.
"""

import ast
import functools
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rewrites.barriers import (
    BarrierError,
    Barriers,
    Effect,
    barrier_index,
    effect_of,
    has_effect,
    parity_of,
)
from rewrites.evaluate import UnknownValueError, evaluate
from rewrites.facts import Facts
from rewrites.lower_loops import bounds
from rewrites.nodes import Blank, Comment
from rewrites.quote import substituted
from rewrites.threads import run_by
from rewrites.tree import loop_kind, walk


@dataclass
class Role:
    """The statements that one set of threads runs, of which the first `done` are placed."""

    threads: int
    body: list[ast.stmt]
    done: int = 0

    @property
    def next(self) -> ast.stmt | None:
        return self.body[self.done] if self.done < len(self.body) else None


def interleaved(
    roles: list[Role], barriers: Barriers, names: Mapping[str, Any], facts: Facts
) -> list[ast.stmt]:
    """The roles' statements in one order, in which waits are satisfied if that can be seen."""
    return _Interleaving(barriers, dict(names), facts).merge(roles)


class _Interleaving:
    def __init__(self, barriers: Barriers, names: dict[str, Any], facts: Facts) -> None:
        self.barriers = barriers
        self.names = names
        self.facts = facts
        # Barriers that loops have used: their state behind the loop is not followed here.
        self.unknown: set[str] = set()

    def merge(self, roles: list[Role]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        while True:
            # What one role does may let another go on. A branch that only later turns come into may
            # wait there for what the others do first, so it stands behind all of that.
            while sum(self._advance(role, result) for role in roles) or any(
                self._advance(role, result, skips=True) for role in roles
            ):
                pass
            waiting = [role for role in roles if role.next is not None]
            if not waiting:
                return result
            at_blocks = [role for role in waiting if not self._is_wait(role.next)]
            # Where all of them wait, the proof has more to say about the first of the waits.
            group = self._fitting(at_blocks) if at_blocks else waiting[:1]
            if len(group) > 1:
                result.append(self._joined(group))
            else:
                block = group[0].next
                assert block is not None
                self._forget(block)
                result.append(block)
            for role in group:
                role.done += 1

    def _advance(self, role: Role, result: list[ast.stmt], skips: bool = False) -> int:
        """Place the role's statements up to one that has to wait; gives how many they were.

        With `skips`, a branch that the first turn does not come into may be the first of them.
        """
        before = role.done
        while (statement := role.next) is not None:
            if isinstance(statement, (Comment, Blank)):
                # A comment stays with the statement behind it.
                rest = role.body[role.done :]
                following = next((s for s in rest if not isinstance(s, (Comment, Blank))), None)
                if following is not None and not self._can_go(following, skips):
                    break
            elif not self._can_go(statement, skips):
                break
            else:
                skips = False
            self._run(statement)
            result.append(statement)
            role.done += 1
        return role.done - before

    def _can_go(self, statement: ast.stmt, skips: bool) -> bool:
        effect = effect_of(statement, self.facts)
        if effect is None:
            return not has_effect(statement, self.facts) or (skips and self._is_skipped(statement))
        return not effect.is_wait or self._passes(effect)

    def _is_skipped(self, statement: ast.stmt) -> bool:
        """Whether the first turn does not come into the branch."""
        if not (isinstance(statement, ast.If) and not statement.orelse):
            return False
        try:
            return not evaluate(statement.test, self.names, self.facts)
        except UnknownValueError:
            return False

    def _is_wait(self, statement: ast.stmt | None) -> bool:
        return statement is not None and effect_of(statement, self.facts) is not None

    def _passes(self, effect: Effect) -> bool:
        if effect.name in self.unknown:
            return True
        try:
            barrier = barrier_index(effect, self.names, self.facts)
            return self.barriers.passes(barrier, parity_of(effect, self.names, self.facts))
        except (UnknownValueError, BarrierError):
            return True

    def _run(self, statement: ast.stmt) -> None:
        """Follow an arrival or a let."""
        effect = effect_of(statement, self.facts)
        if effect is not None and not effect.is_wait:
            try:
                barrier = barrier_index(effect, self.names, self.facts)
                self.barriers.arrive(barrier, effect.count)
            except (UnknownValueError, BarrierError):
                self.unknown.add(effect.name)
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self.names.pop(name, None)
                if name not in self.facts.variables:
                    try:
                        self.names[name] = evaluate(value, self.names, self.facts)
                    except UnknownValueError:
                        return

    def _forget(self, block: ast.stmt) -> None:
        for node in walk(block):
            effect = effect_of(node, self.facts)
            if effect is not None:
                self.unknown.add(effect.name)

    def _fitting(self, roles: list[Role]) -> list[Role]:
        """The roles that stand at blocks which can be made one, in the order of the text."""
        first = roles[0].next
        assert first is not None
        others = [role for role in roles[1:] if role.next is not None and fit(first, role.next)]
        return [roles[0], *others]

    def _joined(self, roles: list[Role]) -> ast.stmt:
        """One loop or branch for those of all roles, the body interleaved."""
        blocks = [role.next for role in roles]
        pipelined = (b for b in blocks if b is not None and loop_kind(b) == "Pipelined")
        first = next(pipelined, blocks[0])
        assert first is not None
        bodies: list[list[ast.stmt]] = []
        for block in blocks:
            assert isinstance(block, (ast.For, ast.If))
            bodies.append(_renamed(block, first))
        if isinstance(first, ast.For):
            assert isinstance(first.target, ast.Name)
            self._start(first, first.target.id)
        inner = [Role(role.threads, body) for role, body in zip(roles, bodies, strict=True)]
        merged = self.merge(inner)
        for block in blocks:
            assert block is not None
            self._forget(block)
        if isinstance(first, ast.For):
            made: ast.stmt = ast.For(first.target, first.iter, merged, [])
            made.type_comment = None  # type: ignore[attr-defined]
        else:
            assert isinstance(first, ast.If)
            made = ast.If(first.test, merged, [])
        made = ast.copy_location(made, first)
        run_by(made, functools.reduce(operator.or_, (role.threads for role in roles)))
        if hasattr(first, "filename"):
            made.filename = first.filename  # type: ignore[attr-defined]
        return made

    def _start(self, loop: ast.For, variable: str) -> None:
        """The loop's variable has its first value."""
        assert isinstance(loop.iter, ast.Call) and isinstance(loop.iter.func, ast.Attribute)
        header = self.facts.operators[loop.iter.func.attr]
        start, _, _ = bounds(header.arguments(loop.iter))
        self.names.pop(variable, None)
        try:
            self.names[variable] = evaluate(start, self.names, self.facts)
        except UnknownValueError:
            return


def fit(first: ast.stmt, second: ast.stmt) -> bool:
    """Whether two roles' blocks are run equally often, for the same values."""
    match first, second:
        case ast.For(), ast.For():
            return _counts(first) == _counts(second)
        case ast.If(orelse=[]), ast.If(orelse=[]):
            return ast.dump(first.test) == ast.dump(second.test)
    return False


def _counts(loop: ast.For) -> list[str] | None:
    """The bounds of a serial loop as text; a loop of another kind fits none."""
    match loop.iter:
        case ast.Call(func=ast.Attribute(attr="serial" | "Pipelined" | "unroll"), args=bounds):
            step = [word.value for word in loop.iter.keywords if word.arg in ("stop", "step")]
            return [ast.dump(part) for part in (*bounds, *step)]
    return [str(id(loop))]


def _renamed(block: ast.For | ast.If, like: ast.stmt) -> list[ast.stmt]:
    """The body, with the loop variable of the loop that it becomes part of."""
    if isinstance(block, ast.For) and isinstance(like, ast.For):
        assert isinstance(block.target, ast.Name) and isinstance(like.target, ast.Name)
        if block.target.id != like.target.id:
            return [substituted(s, {block.target.id: like.target.id}) for s in block.body]
    return block.body
