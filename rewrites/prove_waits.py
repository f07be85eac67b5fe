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
from collections.abc import Iterator

from rewrites.barrier_turns import (
    MOST_TURNS,
    MOST_TURNS_OF_TESTS,
    Known,
    cycle_of_loop,
    indices_in,
    known_last,
    tests_in,
)
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
from rewrites.errors import RewriteError
from rewrites.evaluate import Cycle, UnknownValueError, evaluate
from rewrites.facts import Facts
from rewrites.happened_before import Barrier, Records, arrived, may_be_early, waited
from rewrites.lower_loops import bounds
from rewrites.quote import substituted
from rewrites.ranges import Range
from rewrites.role_races import Races
from rewrites.tree import base_name, blocks_of, names_in, operator_call
from rewrites.wait_problems import RefusedError, miscounted, never_passes, too_early, unknown

Phases = frozenset[tuple[tuple[str, int], Phase]]
State = tuple[Phases, Records]
States = frozenset[State]
# More states than any protocol of a kernel has.
MOST_STATES = 512


def prove(block: ast.With, everybody: int, facts: Facts) -> None:
    """Raise `RewriteError` at the first wait or arrival that the order of the text does not fit.

    `everybody` is the set of all threads of the T.Kernel block. An access that could be in another
    order on a GPU is refused, too.
    """
    proof = _Proof(facts, block, everybody)
    start: State = frozenset(), frozenset()
    try:
        proof.block(block.body, frozenset({start}), Known())
    except RefusedError as stop:
        raise RewriteError(stop.problem) from None


class _Proof:
    def __init__(self, facts: Facts, block: ast.With, everybody: int) -> None:
        self.facts = facts
        self.races = Races(block, everybody, facts)

    def block(self, body: list[ast.stmt], states: States, names: Known) -> States:
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
                raise unknown(statement, "there are too many ways through the loops")
        return states

    def _let(self, statement: ast.Assign, names: Known) -> Known:
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

    def _touch(self, statement: ast.stmt, states: States, names: Known) -> States:
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

    def _landing(self, statement: ast.stmt, names: Known) -> Barrier | None:
        """The barrier that a copy of TMA arrives at when its data is there."""
        call = operator_call(statement, "tma_copy")
        for word in call.keywords if call is not None else ():
            if word.arg == "barrier" and base_name(word.value) in self.facts.barriers:
                assert call is not None
                try:
                    return barrier_index(Effect(call, word.value), names.values, self.facts)
                except (UnknownValueError, BarrierError):
                    raise unknown(
                        word.value, f"which barrier `{ast.unparse(word.value)}` is is not known"
                    ) from None
        return None

    def _without_effect(self, statement: ast.stmt, states: States, names: Known) -> States:
        """The states behind the blocks of a statement that does nothing to barriers."""
        if isinstance(statement, ast.For):
            for variable, interval in self._counters(statement, names):
                names = names.bound(variable, None, None).within(variable, interval)
        elif isinstance(statement, ast.If) and names.may_decide(statement.test):
            decision = self._decision(statement.test, names)
            if decision is not None:
                return self.block(statement.body if decision else statement.orelse, states, names)
        # What one turn touches, another turn meets.
        for _ in range(2 if isinstance(statement, (ast.For, ast.While)) else 1):
            left: States = frozenset()
            for body in blocks_of(statement):
                left |= self.block(body, states, names)
            states |= left
        return states

    def _counters(self, loop: ast.For, names: Known) -> Iterator[tuple[str, Range]]:
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

    def _turns(self, start: ast.expr, stop: ast.expr, names: Known) -> Range:
        first, end = self._number(start, names), self._number(stop, names)
        return Range(first, None if end is None else end - 1)

    def _apply(self, effect: Effect, who: int, state: State, names: Known) -> State:
        barriers = Barriers(self.facts.barriers)
        phases, records = state
        barriers.phases = dict(phases)
        try:
            barrier = barrier_index(effect, names.values, self.facts)
            if not effect.is_wait:
                before = barriers.phases.get(barrier, Phase())
                if may_be_early(records, who, barrier):
                    raise too_early(effect)
                barriers.arrive(barrier, effect.count)
                completes = barriers.phases.get(barrier, Phase()).completed != before.completed
                is_alone = len(self.races.arrivals[effect.name]) == 1
                records = arrived(records, who, barrier, completes, is_alone)
            elif not barriers.passes(barrier, parity_of(effect, names.values, self.facts)):
                raise never_passes(effect, names.values, effect.name in self.races.arrivals)
            else:
                records = waited(records, who, barrier)
        except UnknownValueError as error:
            raise unknown(
                effect.call, f"`{ast.unparse(error.node)}` is not known when the kernel is compiled"
            ) from None
        except BarrierError as error:
            raise miscounted(effect, error) from None
        return barriers.state, records

    def _compound(self, statement: ast.stmt, states: States, names: Known) -> States:
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
                raise unknown(statement, "how often a `while` loop runs is not known")
        raise unknown(statement, "waits cannot stand inside T.Parallel")

    def _decision(self, test: ast.expr, names: Known) -> bool | None:
        try:
            return bool(evaluate(test, names.values, self.facts))
        except UnknownValueError:
            return names.last.get(ast.unparse(substituted(test, names.lets)))

    def _loop(self, loop: ast.For, states: States, names: Known) -> States:
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
        indices = list(indices_in(loop.body, self.races))
        cycle, decides = self._repeats(loop, step, first, names, indices)
        # Where the stages do not repeat, it is not known which one a turn touches.
        tells_stage = cycle is not None
        if not tells_stage:
            cycle = cycle_of_loop(loop, variable, step, first, names, [], self.facts)
        interval = self._turns(start, stop, names) if step == 1 else Range()
        if cycle is None and (turns is None or turns > MOST_TURNS):
            raise unknown(
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
            inside = inside.within(variable, interval, tells_stage, decides)
            if turns is None:
                left |= self.block(loop.body, states, known_last(inside, variable, ends, True))
                inside = known_last(inside, variable, ends, False)
            states = self.block(loop.body, states, inside)
            turn += 1
        return states

    def _repeats(
        self,
        loop: ast.For,
        step: int | None,
        first: int | None,
        names: Known,
        indices: list[ast.expr],
    ) -> tuple[Cycle | None, bool]:
        """After how many turns all is the same; and whether that holds for all conditions, too."""
        assert isinstance(loop.target, ast.Name)
        variable = loop.target.id
        lets = {key: let for key, let in names.lets.items() if variable not in names_in(let)}
        tests = list(tests_in(loop.body, self.facts, lets))
        plain = cycle_of_loop(loop, variable, step, first, names, indices, self.facts)
        all_of_them = [*indices, *tests]
        full = cycle_of_loop(loop, variable, step, first, names, all_of_them, self.facts)
        if plain is None or full is None:
            return plain, False
        most = max(MOST_TURNS_OF_TESTS, plain.start + plain.period)
        decides = full.start + full.period <= most
        return (full if decides else plain), decides

    def _number(self, tree: ast.expr, names: Known) -> int | None:
        try:
            return int(evaluate(tree, names.values, self.facts))
        except UnknownValueError:
            return None
