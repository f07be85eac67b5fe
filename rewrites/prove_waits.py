"""Prove that every wait for a barrier passes where it stands, however often the loops around run.

The statements are followed in their order, with the state of all barriers: how many phases are
complete, modulo 2, and how many threads have arrived in the open one; and with who knows of which
accesses to shared memory, so that none is found that some other order of the threads would move
past another (`role_races`). There are few states, and
what waits and arrivals say of a loop's variable repeats (`evaluate.cycle_of`), so that a loop is
followed until a state comes back at the same place of the cycle; then no later turn is different.
Where a condition is not known, both ways are followed.
"""

import ast
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
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
from rewrites.happened_before import Barrier, Records, arrived, may_be_early, waited
from rewrites.lower_loops import bounds
from rewrites.quote import copy_tree, substituted
from rewrites.ranges import Range
from rewrites.role_races import Races
from rewrites.tree import base_name, blocks_of, names_in, operator_call, walk

Phases = frozenset[tuple[tuple[str, int], Phase]]
State = tuple[Phases, Records]
States = frozenset[State]
# More turns or states than any protocol of a kernel has.
MOST_TURNS = 4096
MOST_STATES = 512


def prove(block: ast.With, everybody: int, facts: Facts) -> None:
    """Raise `RewriteError` at the first wait or arrival that the order of the text does not fit.

    `everybody` is the set of all threads of the T.Kernel block. An access that could be in another
    order on a GPU is refused, too.
    """
    proof = _Proof(facts, block, everybody)
    start: State = frozenset(), frozenset()
    try:
        proof.block(block.body, frozenset({start}), _Names())
    except _RefusedError as stop:
        raise RewriteError(stop.problem) from None


@dataclass(frozen=True)
class _Names:
    """What names stand for: numbers where they are known, and how lets were computed."""

    values: Mapping[str, Any] = field(default_factory=dict)
    lets: Mapping[str, ast.expr] = field(default_factory=dict)
    # Loop variables of which this is the last turn, or is not, by how the last value is written.
    last: Mapping[str, bool] = field(default_factory=dict)
    # The loops around: what values their variables take, and which of them tell tiles' stages.
    ranges: Mapping[str, Range] = field(default_factory=dict)
    stages: frozenset[str] = frozenset()

    def bound(self, name: str, value: Any, let: ast.expr | None) -> "_Names":
        values = {key: old for key, old in self.values.items() if key != name}
        lets = {key: old for key, old in self.lets.items() if key != name}
        if value is not None:
            values[name] = value
        if let is not None:
            lets[name] = let
        return replace(self, values=values, lets=lets)

    def within(self, name: str, interval: Range, tells_stage: bool) -> "_Names":
        """Inside a loop of that variable."""
        stages = self.stages - {name} | ({name} if tells_stage else frozenset())
        return replace(self, ranges={**self.ranges, name: interval}, stages=stages)


class _RefusedError(Exception):
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


class _Proof:
    def __init__(self, facts: Facts, block: ast.With, everybody: int) -> None:
        self.facts = facts
        self.races = Races(block, everybody, facts)

    def block(self, body: list[ast.stmt], states: States, names: _Names) -> States:
        """The states behind the statements, for those before."""
        for statement in body:
            effect = effect_of(statement, self.facts)
            if not self.races.memory and effect is None and not isinstance(statement, ast.Assign):
                if has_effect(statement, self.facts):
                    states = self._compound(statement, states, names)
                continue
            states = self._touch(statement, states, names)
            if isinstance(statement, ast.Assign):
                names = self._let(statement, names)
                continue
            if effect is not None:
                who = self.races.who(statement)
                states = frozenset(self._apply(effect, who, state, names) for state in states)
            elif has_effect(statement, self.facts):
                states = self._compound(statement, states, names)
            else:
                states = self._without_effect(statement, states, names)
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

    def _touch(self, statement: ast.stmt, states: States, names: _Names) -> States:
        """The states behind what the statement, or its header, reads and writes."""
        if not self.races.memory:
            return states
        values = {key: value for key, value in names.values.items() if key in names.stages}
        known = self.races.known(values, names.lets, names.ranges)
        landing = self._landing(statement, names)
        return frozenset(
            (phases, self.races.follow(statement, records, known, landing))
            for phases, records in states
        )

    def _landing(self, statement: ast.stmt, names: _Names) -> Barrier | None:
        """The barrier that a copy of TMA arrives at when its data is there."""
        call = operator_call(statement, "tma_copy")
        for word in call.keywords if call is not None else ():
            if word.arg == "barrier" and base_name(word.value) in self.facts.barriers:
                assert call is not None
                try:
                    return barrier_index(Effect(call, word.value), names.values, self.facts)
                except (UnknownValueError, BarrierError):
                    raise self._unknown(
                        word.value, f"which barrier `{ast.unparse(word.value)}` is is not known"
                    ) from None
        return None

    def _without_effect(self, statement: ast.stmt, states: States, names: _Names) -> States:
        """The states behind the blocks of a statement that does nothing to barriers."""
        if isinstance(statement, ast.For):
            for variable, interval in self._counters(statement, names):
                names = names.bound(variable, None, None).within(variable, interval, False)
        # What one turn touches, another turn meets.
        for _ in range(2 if isinstance(statement, (ast.For, ast.While)) else 1):
            left: States = frozenset()
            for body in blocks_of(statement):
                left |= self.block(body, states, names)
            states |= left
        return states

    def _counters(self, loop: ast.For, names: _Names) -> Iterator[tuple[str, Range]]:
        assert isinstance(loop.iter, ast.Call) and isinstance(loop.iter.func, ast.Attribute)
        if loop.iter.func.attr in ("Parallel", "parallel"):
            targets = loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
            for target, extent in zip(targets, loop.iter.args, strict=True):
                yield ast.unparse(target), self._turns(ast.Constant(0), extent, names)
            return
        arguments = self.facts.operators[loop.iter.func.attr].arguments(loop.iter)
        if "start" not in arguments:
            yield from ((name, Range()) for name in names_in(loop.target))
            return
        start, stop, _ = bounds(arguments)
        yield ast.unparse(loop.target), self._turns(start, stop, names)

    def _turns(self, start: ast.expr, stop: ast.expr, names: _Names) -> Range:
        first, end = self._number(start, names), self._number(stop, names)
        return Range(first, None if end is None else end - 1)

    def _apply(self, effect: Effect, who: int, state: State, names: _Names) -> State:
        barriers = Barriers(self.facts.barriers)
        phases, records = state
        barriers.phases = dict(phases)
        try:
            barrier = barrier_index(effect, names.values, self.facts)
            if not effect.is_wait:
                before = barriers.phases.get(barrier, Phase())
                if may_be_early(records, who, barrier):
                    raise self._early(effect)
                barriers.arrive(barrier, effect.count)
                completes = barriers.phases.get(barrier, Phase()).completed != before.completed
                is_alone = len(self.races.arrivals[effect.name]) == 1
                records = arrived(records, who, barrier, completes, is_alone)
            elif not barriers.passes(barrier, parity_of(effect, names.values, self.facts)):
                raise self._waits(effect, names)
            else:
                records = waited(records, who, barrier)
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
        return barriers.state, records

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
        indices = list(_indices(loop.body, self.races))
        cycle = self._cycle(loop, variable, step, first, names, indices)
        # Where the stages do not repeat, it is not known which one a turn touches.
        tells_stage = cycle is not None
        if not tells_stage:
            cycle = self._cycle(loop, variable, step, first, names, [])
        interval = self._turns(start, stop, names) if step == 1 else Range()
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
            inside = inside.within(variable, interval, tells_stage)
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
        return replace(names, last=last)

    def _cycle(
        self,
        loop: ast.For,
        variable: str,
        step: int | None,
        first: int | None,
        names: _Names,
        indices: list[ast.expr],
    ) -> Cycle | None:
        """After how many turns all that waits and arrivals say of the variable is the same."""
        lets = {name: tree for name, tree in names.lets.items() if variable not in names_in(tree)}
        period, since = 1, 0
        for tree in (*_deciding(loop.body, self.facts, dict(lets)), *indices):
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
        if effect.name not in self.races.arrivals:
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

    def _early(self, effect: Effect) -> _RefusedError:
        return _RefusedError(
            Problem(
                effect.call,
                "T2T715",
                "these threads may arrive while others have not yet arrived for the phase before: "
                "then the phase would be complete without those",
                (f"the barrier: `{ast.unparse(effect.operand)}`",),
                "let them wait for the phase before they arrive for the next one, or give each "
                "group of threads a barrier of its own",
            )
        )

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


def _indices(body: Iterable[ast.stmt], races: Races) -> Iterator[ast.expr]:
    """The indices of disputed tiles in a loop, with lets spelled out."""
    lets: dict[str, ast.expr] = {}
    for statement in body:
        for node in walk(statement):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    lets[name] = substituted(value, lets)
        yield from (substituted(index, lets) for index in races.indices(statement))
