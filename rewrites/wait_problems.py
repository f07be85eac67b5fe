"""What is said of waits and arrivals that the order of a kernel's text does not fit."""

import ast
from collections.abc import Mapping
from typing import Any

from rewrites.barriers import BarrierError, Effect
from rewrites.errors import Problem
from rewrites.tree import names_in


class RefusedError(Exception):
    """Carries a problem out of the proof."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def never_passes(effect: Effect, values: Mapping[str, Any], is_arrived_at: bool) -> RefusedError:
    """A wait that nothing before it satisfies."""
    operand = ast.unparse(effect.operand)
    turn = ", ".join(
        f"{name} = {values[name]}" for name in sorted(names_in(effect.call) & values.keys())
    )
    at = f" where {turn}" if turn else ""
    if not is_arrived_at:
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
    found = tuple([f"parity: {ast.unparse(effect.parity)}"] if effect.parity is not None else [])
    return RefusedError(Problem(effect.call, "T2T710", message, found, hint))


def too_early(effect: Effect) -> RefusedError:
    """An arrival that may come before those of the phase before."""
    return RefusedError(
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


def unknown(node: ast.AST, reason: str) -> RefusedError:
    """What keeps the order from being proved."""
    return RefusedError(
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


def miscounted(effect: Effect, error: BarrierError) -> RefusedError:
    """An arrival that the barrier does not count."""
    return RefusedError(
        Problem(
            effect.call,
            "T2T711",
            f"`{ast.unparse(effect.call.func)}`: {error}",
            (f"the barrier: `{ast.unparse(effect.operand)}`",),
            "give T.alloc_barrier the number of threads that arrive in one phase",
        )
    )
