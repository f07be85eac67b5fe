"""How many stages the loops have that `with T.Pipelined(num_stages=n):` is written around."""

from rewrites.operands.places import Output
from rewrites.operands.terms import Axis, Term, how_scanned, reduced_axis


def stages_of(outputs: list[Output]) -> dict[Axis, int]:
    """The stages by the axis of the loop: those said where the innermost name is assigned."""
    found: dict[Axis, int] = {}
    seen: set[tuple[Term, int]] = set()
    waiting = [(output.term, 0) for output in outputs]
    while waiting:
        term, stages = waiting.pop()
        stages = term.stages[0] if term.stages else stages
        if (term, stages) in seen:
            continue
        seen.add((term, stages))
        axis = how_scanned(term)[1] if term.kind == "scan" else reduced_axis(term)
        if axis is not None and stages:
            found[axis] = max(stages, found.get(axis, 0))
        waiting += [(operand, stages) for operand in term.operands]
    return found
