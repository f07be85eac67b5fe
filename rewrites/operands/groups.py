"""Which outputs one launch computes: those that run over the same elements.

Programs of one grid for results of other shapes would compute each of them again and again; they
are launched one after the other.
"""

import ast
from dataclasses import dataclass

from rewrites.errors import refuse
from rewrites.facts import Facts
from rewrites.operands.places import Output, Plan
from rewrites.operands.terms import Axis, how_scanned, reduced_axis, subterms
from rewrites.schedule import Schedule


@dataclass
class Group:
    """Outputs by their places in the program, and the axes that they run over."""

    places: list[int]
    # The axes that number elements of an output, and with them those that are reduced.
    own: frozenset[Axis]
    all: frozenset[Axis]
    scanned: frozenset[Axis]
    tensors: frozenset[str]

    def takes(self, other: "Group") -> bool:
        """Whether the programs that compute one can compute the other, too."""
        if self.tensors & other.tensors:
            return True
        if self.scanned and other.scanned and self.scanned != other.scanned:
            return False
        if self.own == other.own:
            return True
        return bool(self.all & other.all) and (self.own <= other.all or other.own <= self.all)

    def join(self, other: "Group") -> None:
        self.places += other.places
        self.own |= other.own
        self.all |= other.all
        self.scanned |= other.scanned
        self.tensors |= other.tensors


def grouped(outputs: list[Output]) -> list[list[int]]:
    """The places of the outputs that are computed together, in their order."""
    groups: list[Group] = []
    for place, output in enumerate(outputs):
        made = _alone(place, output)
        group = next((one for one in groups if one.takes(made)), None)
        if group is None:
            groups.append(made)
        else:
            group.join(made)
    return [group.places for group in groups]


def _alone(place: int, output: Output) -> Group:
    found = subterms(output.term)
    own = frozenset(output.axes)
    reduced = {axis for term in found if (axis := reduced_axis(term)) is not None}
    scanned = frozenset(how_scanned(term)[1] for term in found if term.kind == "scan")
    return Group([place], own, own | reduced | scanned, scanned, frozenset({output.tensor}))


def refuse_several(plans: list[Plan], facts: Facts, function: ast.AST) -> None:
    """A schedule is of one launch."""
    if len(plans) > 1 and facts.schedule != Schedule(options=facts.schedule.options):
        shapes = [
            f"{', '.join(one.tensor for one in plan.outputs)}: "
            f"({', '.join(str(axis.size) for axis in plan.outputs[0].axes)})"
            for plan in plans
        ]
        raise refuse(
            function,
            "T2T867",
            "results that run over other elements are computed one after the other, and a schedule "
            "is of one of them",
            tuple(shapes),
            "return each from a kernel of its own, and give that its schedule",
        )
