"""Barriers while a program runs: who has arrived, and waits that could never end."""

import ast

from rewrites.barriers import Effect, effect_of
from tile2triton.reference.errors import DeadlockError
from tile2triton.reference.expressions import evaluate
from tile2triton.reference.state import State


def follow(statement: ast.stmt, state: State) -> None:
    """Count an arrival, or refuse a wait that nothing before it satisfies.

    Statements run one after the other here, so that an arrival that comes later never comes.
    """
    effect = effect_of(statement, state.facts)
    if effect is None:
        return
    barrier = _barrier(effect, state)
    expected = state.facts.barriers[effect.name][barrier[1]]
    phase, arrived = divmod(state.arrived[barrier], expected)
    if effect.parity is None:
        state.arrived[barrier] += effect.count
        if arrived + effect.count > expected:
            raise DeadlockError(
                effect.call,
                f"{arrived + effect.count} threads arrive at `{ast.unparse(effect.operand)}`, "
                f"which expects {expected} in phase {phase}.",
            )
        return
    # Phase n has parity n % 2, and the phase before the first counts as complete.
    if (phase - 1) % 2 != int(evaluate(effect.parity, state)) % 2:
        raise DeadlockError(
            effect.call,
            f"`{ast.unparse(effect.call)}` would wait for something that comes later: "
            f"{phase} phases of the barrier are complete, and {arrived} of {expected} threads "
            "have arrived in the next.",
        )


def _barrier(effect: Effect, state: State) -> tuple[str, int]:
    index = 0
    if isinstance(effect.operand, ast.Subscript):
        index = int(evaluate(effect.operand.slice, state))
    if not 0 <= index < len(state.facts.barriers[effect.name]):
        raise DeadlockError(effect.call, f"`{effect.name}` has no barrier {index}.")
    return effect.name, index
