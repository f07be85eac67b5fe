"""Prove that every wait for a barrier passes where it stands, however often the loops around run.

The statements are followed in their order, with the state of all barriers: how many phases are
complete, modulo 2, and how many threads have arrived in the open one. There are few states, and
what waits and arrivals say of a loop's variable repeats (`evaluate.cycle_of`), so that a loop is
followed until a state comes back at the same place of the cycle; then no later turn is different.
Where a condition is not known, both ways are followed.
"""

import ast
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rewrites.barriers import (
    BarrierError,
    Barriers,
    Effect,
    Phase,
    barrier_index,
    effect_of,
    has_effect,
    parity_of,
)
from rewrites.errors import Problem, RewriteError
from rewrites.evaluate import Cycle, UnknownValueError, cycle_of, evaluate
from rewrites.facts import Facts
from rewrites.lower_loops import bounds
from rewrites.quote import copy_tree, substituted
from rewrites.tree import names_in, walk

State = frozenset[tuple[tuple[str, int], Phase]]
States = frozenset[State]
# More turns or states than any protocol of a kernel has.
MOST_TURNS = 4096
MOST_STATES = 512


def prove(body: list[ast.stmt], facts: Facts) -> None:
    """Raise `RewriteError` at the first wait or arrival that the order of the text does not fit."""
    proof = _Proof(facts, body)
    try:
        proof.block(body, frozenset({frozenset()}), _Names())
    except _RefusedError as stop:
        raise RewriteError(stop.problem) from None


@dataclass(frozen=True)
class _Names:
    """What names stand for: numbers where they are known, and how lets were computed."""

    values: Mapping[str, Any] = field(default_factory=dict)
    lets: Mapping[str, ast.expr] = field(default_factory=dict)
    # Loop variables of which this is the last turn, or is not, by how the last value is written.
    last: Mapping[str, bool] = field(default_factory=dict)

    def bound(self, name: str, value: Any, let: ast.expr | None) -> "_Names":
        values = {key: old for key, old in self.values.items() if key != name}
        lets = {key: old for key, old in self.lets.items() if key != name}
        if value is not None:
            values[name] = value
        if let is not None:
            lets[name] = let
        return _Names(values, lets, self.last)


class _RefusedError(Exception):
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


class _Proof:
    def __init__(self, facts: Facts, body: list[ast.stmt]) -> None:
        self.facts = facts
        self.arrivals = {
            effect.name
            for statement in body
            for node in walk(statement)
            if (effect := effect_of(node, facts)) is not None and not effect.is_wait
        }

    def block(self, body: list[ast.stmt], states: States, names: _Names) -> States:
        """The states behind the statements, for those before."""
        for statement in body:
            if isinstance(statement, ast.Assign):
                names = self._let(statement, names)
                continue
            effect = effect_of(statement, self.facts)
            if effect is not None:
                states = frozenset(self._apply(effect, state, names) for state in states)
            elif has_effect(statement, self.facts):
                states = self._compound(statement, states, names)
            if len(states) > MOST_STATES:
                raise self._unknown(statement, "there are too many ways through the loops")
        return states

    def _let(self, statement: ast.Assign, names: _Names) -> _Names:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                if name in self.facts.variables or name in self.facts.tiles:
                    return names
                try:
                    number = evaluate(value, names.values, self.facts)
                except UnknownValueError:
                    number = None
                return names.bound(name, number, substituted(value, names.lets))
        return names

    def _apply(self, effect: Effect, state: State, names: _Names) -> State:
        barriers = Barriers(self.facts.barriers)
        barriers.phases = dict(state)
        try:
            barrier = barrier_index(effect, names.values, self.facts)
            if not effect.is_wait:
                barriers.arrive(barrier, effect.count)
            elif not barriers.passes(barrier, parity_of(effect, names.values, self.facts)):
                raise self._waits(effect, names)
        except UnknownValueError as error:
            raise self._unknown(
                effect.call, f"`{ast.unparse(error.node)}` is not known when the kernel is compiled"
            ) from None
        except BarrierError as error:
            raise _RefusedError(
                Problem(
                    effect.call,
                    "T2T711",
                    f"`{ast.unparse(effect.call.func)}`: {error}",
                    (f"the barrier: `{ast.unparse(effect.operand)}`",),
                    "give T.alloc_barrier the number of threads that arrive in one phase",
                )
            ) from None
        return barriers.state

    def _compound(self, statement: ast.stmt, states: States, names: _Names) -> States:
        match statement:
            case ast.If(test=test, body=body, orelse=orelse):
                decision = self._decision(test, names)
                if decision is not None:
                    return self.block(body if decision else orelse, states, names)
                return self.block(body, states, names) | self.block(orelse, states, names)
            case ast.For(iter=ast.Call(func=ast.Attribute(attr=function))) if function not in (
                "Parallel",
                "parallel",
            ):
                return self._loop(statement, states, names)
            case ast.While():
                raise self._unknown(statement, "how often a `while` loop runs is not known")
        raise self._unknown(statement, "waits cannot stand inside T.Parallel")

    def _decision(self, test: ast.expr, names: _Names) -> bool | None:
        try:
            return bool(evaluate(test, names.values, self.facts))
        except UnknownValueError:
            return names.last.get(ast.unparse(substituted(test, names.lets)))

    def _loop(self, loop: ast.For, states: States, names: _Names) -> States:
        """Follow the turns, to the last or until nothing new can come."""
        assert isinstance(loop.iter, ast.Call) and isinstance(loop.iter.func, ast.Attribute)
        assert isinstance(loop.target, ast.Name)
        arguments = self.facts.operators[loop.iter.func.attr].arguments(loop.iter)
        start, stop, step_tree = bounds(arguments)
        variable, step = loop.target.id, self._number(step_tree, names)
        first, end = self._number(start, names), self._number(stop, names)
        turns = None
        if first is not None and end is not None and step:
            turns = len(range(first, end, step))
        ends = [ast.unparse(substituted(stop, names.lets))] if turns is None else []
        ends += [ast.unparse(stop)] if turns is None else []
        cycle = self._cycle(loop, variable, step, first, names)
        if cycle is None and (turns is None or turns > MOST_TURNS):
            raise self._unknown(
                loop, f"what `{variable}` does to the barriers does not repeat after some turns"
            )
        left: States = states if turns is None else frozenset()
        seen: dict[tuple[int, States], int] = {}
        turn = 0
        while turns is None or turn < turns:
            if cycle is not None:
                at = (
                    turn
                    if turn < cycle.start
                    else cycle.start + (turn - cycle.start) % cycle.period
                )
                key = (at, states)
                if key in seen and turn >= cycle.start:
                    if turns is None:
                        return left
                    # The turns from there on repeat: skip whole rounds.
                    turn += (turns - turn) // (turn - seen[key]) * (turn - seen[key])
                    seen = {}
                    cycle = None
                    continue
                seen[key] = turn
            value = None if first is None or step is None else first + step * turn
            inside = names.bound(variable, value, None)
            if turns is None:
                left |= self.block(
                    loop.body, states, self._known_last(inside, variable, ends, True)
                )
                inside = self._known_last(inside, variable, ends, False)
            states = self.block(loop.body, states, inside)
            turn += 1
        return states

    def _known_last(self, names: _Names, variable: str, ends: list[str], is_last: bool) -> _Names:
        """Conditions on the last turn of a loop whose end is not known."""
        last = dict(names.last)
        for end in ends:
            for text in (f"{variable} == {end} - 1", f"{variable} + 1 == {end}"):
                last[text] = is_last
            for text in (f"{variable} != {end} - 1", f"{variable} < {end} - 1"):
                last[text] = not is_last
        return _Names(names.values, names.lets, last)

    def _cycle(
        self, loop: ast.For, variable: str, step: int | None, first: int | None, names: _Names
    ) -> Cycle | None:
        """After how many turns all that waits and arrivals say of the variable is the same."""
        lets = {name: tree for name, tree in names.lets.items() if variable not in names_in(tree)}
        period, since = 1, 0
        for tree in _deciding(loop.body, self.facts, dict(lets)):
            if variable not in names_in(tree):
                continue
            if step is None or first is None:
                return None
            values = {**names.values, variable: first}
            found = cycle_of(tree, variable, step, values, self.facts)
            if found is None and self._is_about_end(tree, loop, names):
                continue
            if found is None or found.drift:
                return None
            common = Cycle(period, 0, since).stretched(math.lcm(period, found.period))
            period, since = common.period, max(since, found.start)
        return Cycle(period, 0, since) if period <= MOST_TURNS else None

    def _is_about_end(self, tree: ast.expr, loop: ast.For, names: _Names) -> bool:
        """Whether a condition asks for the last turn, which is followed by itself."""
        assert isinstance(loop.iter, ast.Call) and isinstance(loop.target, ast.Name)
        assert isinstance(loop.iter.func, ast.Attribute)
        _, stop, _ = bounds(self.facts.operators[loop.iter.func.attr].arguments(loop.iter))
        ends = [ast.unparse(stop), ast.unparse(substituted(stop, names.lets))]
        known = self._known_last(names, loop.target.id, ends, True).last
        return ast.unparse(tree) in known

    def _number(self, tree: ast.expr, names: _Names) -> int | None:
        try:
            return int(evaluate(tree, names.values, self.facts))
        except UnknownValueError:
            return None

    def _waits(self, effect: Effect, names: _Names) -> _RefusedError:
        operand = ast.unparse(effect.operand)
        turn = ", ".join(
            f"{name} = {names.values[name]}"
            for name in sorted(names_in(effect.call) & names.values.keys())
        )
        at = f" where {turn}" if turn else ""
        if effect.name not in self.arrivals:
            message = f"nothing ever arrives at `{operand}`, so this wait never ends"
            hint = f"arrive at it: T.barrier_arrive({operand})"
        else:
            message = (
                f"this wait is not satisfied by what stands before it{at}: the arrival that it "
                "waits for comes later in the kernel, or not at all"
            )
            hint = (
                "let the statements that arrive stand before those that wait, in the same turn of "
                "the same loop; a wait for parity 1 passes before the first phase is complete"
            )
        found = tuple(
            [f"parity: {ast.unparse(effect.parity)}"] if effect.parity is not None else []
        )
        return _RefusedError(Problem(effect.call, "T2T710", message, found, hint))

    def _unknown(self, node: ast.AST, reason: str) -> _RefusedError:
        return _RefusedError(
            Problem(
                node,
                "T2T712",
                "it cannot be proved that the waits here are satisfied in the order of the "
                f"kernel's text: {reason}",
                (),
                "index barriers, and say parities, with loop variables and constants, such as "
                "`b[k % 2]` and `(k // 2) % 2`; or leave barriers out and use T.Pipelined",
            )
        )


def _deciding(
    body: Iterable[ast.stmt], facts: Facts, lets: dict[str, ast.expr]
) -> Iterator[ast.expr]:
    """The trees that decide what happens to barriers, with lets spelled out."""
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                if name not in facts.variables and name not in facts.tiles:
                    lets[name] = substituted(value, lets)
                continue
        effect = effect_of(statement, facts)
        if effect is not None:
            if isinstance(effect.operand, ast.Subscript):
                yield substituted(effect.operand.slice, lets)
            if effect.parity is not None:
                yield substituted(effect.parity, lets)
        elif has_effect(statement, facts):
            match statement:
                case ast.If(test=test, body=inner, orelse=orelse):
                    yield substituted(test, lets)
                    yield from _deciding(inner, facts, lets)
                    yield from _deciding(orelse, facts, lets)
                case ast.For(iter=ast.Call() as header, body=inner):
                    yield from (substituted(copy_tree(part), lets) for part in header.args)
                    yield from _deciding(inner, facts, lets)
