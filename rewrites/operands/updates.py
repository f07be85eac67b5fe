"""Check that parameters which change in place are read and stored by one program each."""

from collections.abc import Collection

from rewrites.errors import refuse
from rewrites.operands.places import Output, Plan
from rewrites.operands.terms import Term, subterms


def check_updates(plan: Plan, groups: list[list[Output]], parameters: Collection[str]) -> None:
    """Refuse what would read a parameter that another program, or this one, has changed.

    An element that changes is read where it is stored, by the program that stores it.
    """
    for output in plan.outputs:
        if output.tensor not in parameters:
            continue
        for other in (one for outputs in groups for one in outputs):
            for load in _loads(output.tensor, other):
                if other is not output or not _is_same(load, output):
                    raise refuse(
                        output.node,
                        "T2T861",
                        f"`{output.tensor}` changes in place and is read elsewhere in the program",
                        hint="return the new value in place of storing it, or do the one in a "
                        "kernel of its own",
                    )
        shared = {
            axis
            for axis, place in plan.places.items()
            if place.role in ("grid", "tile") and axis not in output.axes
        }
        if shared and _loads(output.tensor, output):
            raise refuse(
                output.node,
                "T2T862",
                f"several programs would add to each element of `{output.tensor}`",
                hint="give it a kernel of its own: this one stores to operands of other shapes",
            )


def _loads(tensor: str, output: Output) -> list[Term]:
    found = subterms(output.term)
    return [term for term in found if term.kind == "load" and term.detail == tensor]


def _is_same(load: Term, output: Output) -> bool:
    """Whether a load is of the element that is stored."""
    return load.operands == output.indices
