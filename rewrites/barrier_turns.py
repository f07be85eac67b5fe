"""How what waits and arrivals say repeats from turn to turn of a loop."""

import ast
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rewrites.barriers import effect_of, has_effect
from rewrites.evaluate import Cycle, cycle_of
from rewrites.facts import Facts
from rewrites.lower_loops import bounds
from rewrites.quote import copy_tree, substituted
from rewrites.ranges import Range
from rewrites.role_races import Races
from rewrites.tree import blocks_of, names_in, walk

# More turns than any protocol of a kernel has.
MOST_TURNS = 4096
# After more turns than this, conditions that do nothing to barriers are not waited for.
MOST_TURNS_OF_TESTS = 64


@dataclass(frozen=True)
class Known:
    """What names stand for: numbers where they are known, and how lets were computed."""

    values: Mapping[str, Any] = field(default_factory=dict)
    lets: Mapping[str, ast.expr] = field(default_factory=dict)
    # Loop variables of which this is the last turn, or is not, by how the last value is written.
    last: Mapping[str, bool] = field(default_factory=dict)
    # The loops around: what values their variables take, and which of them tell tiles' stages.
    ranges: Mapping[str, Range] = field(default_factory=dict)
    stages: frozenset[str] = frozenset()
    # Those for which every condition on them repeats with the turns that are followed.
    decide: frozenset[str] = frozenset()

    def bound(self, name: str, value: Any, let: ast.expr | None) -> "Known":
        values = {key: old for key, old in self.values.items() if key != name}
        lets = {key: old for key, old in self.lets.items() if key != name}
        if value is not None:
            values[name] = value
        if let is not None:
            lets[name] = let
        return replace(self, values=values, lets=lets)

    def within(
        self, name: str, interval: Range, tells_stage: bool = False, decides: bool = False
    ) -> "Known":
        """Inside a loop of that variable."""
        stages = self.stages - {name} | ({name} if tells_stage else frozenset())
        decide = self.decide - {name} | ({name} if decides else frozenset())
        ranges = {**self.ranges, name: interval}
        return replace(self, ranges=ranges, stages=stages, decide=decide)

    def may_decide(self, test: ast.expr) -> bool:
        """Whether what the condition is in a turn that is followed, it is in all like it."""
        asked = names_in(substituted(test, self.lets)) & self.ranges.keys()
        return asked <= self.decide


def known_last(names: Known, variable: str, ends: list[str], is_last: bool) -> Known:
    """Conditions on the last turn of a loop whose end is not known."""
    last = dict(names.last)
    for end in ends:
        for text in (f"{variable} == {end} - 1", f"{variable} + 1 == {end}"):
            last[text] = is_last
        for text in (f"{variable} != {end} - 1", f"{variable} < {end} - 1"):
            last[text] = not is_last
    return replace(names, last=last)


def cycle_of_loop(
    loop: ast.For,
    variable: str,
    step: int | None,
    first: int | None,
    names: Known,
    indices: list[ast.expr],
    facts: Facts,
) -> Cycle | None:
    """After how many turns all that waits and arrivals say of the variable is the same."""
    lets = {name: tree for name, tree in names.lets.items() if variable not in names_in(tree)}
    period, since = 1, 0
    for tree in (*_deciding(loop.body, facts, dict(lets)), *indices):
        if variable not in names_in(tree):
            continue
        if step is None or first is None:
            return None
        values = {**names.values, variable: first}
        found = cycle_of(tree, variable, step, values, facts)
        if found is None and _is_about_end(tree, loop, names, facts):
            continue
        if found is None or found.drift:
            return None
        common = Cycle(period, 0, since).stretched(math.lcm(period, found.period))
        period, since = common.period, max(since, found.start)
    return Cycle(period, 0, since) if period <= MOST_TURNS else None


def _is_about_end(tree: ast.expr, loop: ast.For, names: Known, facts: Facts) -> bool:
    """Whether a condition asks for the last turn, which is followed by itself."""
    assert isinstance(loop.iter, ast.Call) and isinstance(loop.target, ast.Name)
    assert isinstance(loop.iter.func, ast.Attribute)
    _, stop, _ = bounds(facts.operators[loop.iter.func.attr].arguments(loop.iter))
    ends = [ast.unparse(stop), ast.unparse(substituted(stop, names.lets))]
    known = known_last(names, loop.target.id, ends, True).last
    return ast.unparse(tree) in known


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


def indices_in(body: Iterable[ast.stmt], races: Races) -> Iterator[ast.expr]:
    """The indices of disputed tiles in a loop, with lets spelled out."""
    lets: dict[str, ast.expr] = {}
    for statement in body:
        for node in walk(statement):
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    lets[name] = substituted(value, lets)
        yield from (substituted(index, lets) for index in races.indices(statement))


def tests_in(
    body: Iterable[ast.stmt], facts: Facts, lets: dict[str, ast.expr]
) -> Iterator[ast.expr]:
    """The conditions of branches that do nothing to barriers, with lets spelled out."""
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                if name not in facts.variables and name not in facts.tiles:
                    lets[name] = substituted(value, lets)
            case ast.If(test=test) if not has_effect(statement, facts):
                yield substituted(test, lets)
        for inner in blocks_of(statement):
            yield from tests_in(inner, facts, lets)
