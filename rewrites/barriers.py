"""What statements do to barriers, and the state that barriers are in."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rewrites.evaluate import evaluate
from rewrites.facts import Facts
from rewrites.tree import base_name, walk

WAITS = ("mbarrier_wait_parity", "barrier_wait")
ARRIVALS = (
    "mbarrier_arrive",
    "barrier_arrive",
    "mbarrier_arrive_expect_tx",
    "cp_async_barrier_noinc",
)
# One arrival, when what was issued before is complete: by an operator of its own, or by a product.
COMPLETIONS = ("tcgen05_mma_arrive", "tcgen05_gemm", "gemm")
# `T.mbarrier_arrive(b, count=128)`: how many threads arrive, set down by `sequence_roles`.
COUNT = "count"


@dataclass(frozen=True)
class Effect:
    """A wait for `parity`, or an arrival of `count` threads, at the barrier `operand`."""

    call: ast.Call
    operand: ast.expr
    parity: ast.expr | None = None
    count: int = 1

    @property
    def is_wait(self) -> bool:
        return self.parity is not None

    @property
    def name(self) -> str:
        found = base_name(self.operand)
        assert found is not None
        return found


def effect_of(statement: ast.AST, facts: Facts) -> Effect | None:
    """What the statement itself does to a barrier."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=function)) as call):
            words = {word.arg: word.value for word in call.keywords}
            if function in WAITS:
                first, second = _operands(call, "mbarrier", "parity")
                return Effect(call, first, second)
            if function in ARRIVALS:
                (operand,) = _operands(call, "barrier" if "noinc" in function else "mbarrier")
                count = words.get(COUNT)
                assert isinstance(count, ast.Constant) and isinstance(count.value, int)
                return Effect(call, operand, count=count.value)
            if function in COMPLETIONS:
                given = [*call.args[:1]] if "arrive" in function else []
                given += [words["mbar"]] if "mbar" in words else []
                if given and base_name(given[0]) in facts.barriers:
                    return Effect(call, given[0])
    return None


def _operands(call: ast.Call, *names: str) -> list[ast.expr]:
    words = {word.arg: word.value for word in call.keywords}
    return [call.args[at] if at < len(call.args) else words[name] for at, name in enumerate(names)]


def has_effect(tree: ast.AST, facts: Facts) -> bool:
    """Whether a barrier is waited for or arrived at anywhere in the tree."""
    return bool(facts.barriers) and any(effect_of(node, facts) for node in walk(tree))


@dataclass(frozen=True)
class Phase:
    """How many phases of a barrier are complete, modulo 2, and who arrived in the open one."""

    completed: int = 0
    arrived: int = 0


class BarrierError(Exception):
    """An arrival that a barrier does not expect."""


class Barriers:
    """The state of every barrier of a program."""

    def __init__(self, counts: Mapping[str, tuple[int, ...]]) -> None:
        self.counts = counts
        self.phases: dict[tuple[str, int], Phase] = {}

    def copy(self) -> "Barriers":
        """The same state, to be followed by itself."""
        made = Barriers(self.counts)
        made.phases = dict(self.phases)
        return made

    @property
    def state(self) -> frozenset[tuple[tuple[str, int], Phase]]:
        return frozenset(self.phases.items())

    def passes(self, barrier: tuple[str, int], parity: int) -> bool:
        """Whether the phase of this parity is complete; before the first, that of parity 1 is."""
        return self.phases.get(barrier, Phase()).completed != parity % 2

    def arrive(self, barrier: tuple[str, int], count: int) -> None:
        name, index = barrier
        phase = self.phases.get(barrier, Phase())
        expected, arrived = self.counts[name][index], phase.arrived + count
        if arrived > expected:
            raise BarrierError(
                f"{arrived} threads arrive at a barrier that expects {expected} in each phase"
            )
        if arrived == expected:
            phase = Phase(1 - phase.completed)
        else:
            phase = Phase(phase.completed, arrived)
        # A barrier that is as it was at the start has no entry, so that equal states are equal.
        self.phases.pop(barrier, None)
        if phase != Phase():
            self.phases[barrier] = phase


def barrier_index(effect: Effect, names: Mapping[str, Any], facts: Facts) -> tuple[str, int]:
    """The barrier that the operand names; raises `UnknownValueError`."""
    if isinstance(effect.operand, ast.Name):
        return effect.name, 0
    assert isinstance(effect.operand, ast.Subscript)
    index = int(evaluate(effect.operand.slice, names, facts))
    if not 0 <= index < len(facts.barriers[effect.name]):
        raise BarrierError(f"there is no barrier {index} in `{effect.name}`")
    return effect.name, index


def parity_of(effect: Effect, names: Mapping[str, Any], facts: Facts) -> int:
    """The parity that a wait is for; raises `UnknownValueError`."""
    assert effect.parity is not None
    return int(evaluate(effect.parity, names, facts))
