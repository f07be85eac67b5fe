"""A module's kernels in Gluon, as far as they can be; the others stay as they are in Triton."""

import ast
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from rewrites.facts import Facts
from rewrites.gluon.amd.chips import CHIPS
from rewrites.gluon.amd.specialize import specialized_for_amd
from rewrites.gluon.errors import UnsuitedError
from rewrites.gluon.specialize import Specialized, specialized
from rewrites.gluon.spell_out import spell_out
from rewrites.tree import kernels_of

Lowered = tuple[ast.Module, Facts]


@dataclass
class Mixed:
    """Kernels by name: those in Gluon, and why others are not."""

    made: dict[str, Specialized] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)


def specialize(lowered: Lowered, plain: Callable[[], Lowered]) -> tuple[Lowered, Mixed]:
    """The module with kernels in Gluon, and which they are.

    `lowered` has kernels as they are before loops are rotated and products waited for; `plain`
    makes the same kernels as Triton runs them.
    """
    tree, facts = lowered
    assert facts.schedule.consumers is not None
    mixed = Mixed()
    launches = {launch.kernel: launch for launch in facts.launches}
    for kernel in kernels_of(tree):
        try:
            make = specialized_for_amd if facts.target in CHIPS else specialized
            made = make(spell_out(kernel), launches[kernel.name], facts, facts.schedule.consumers)
            mixed.made[kernel.name] = made
        except UnsuitedError as error:
            mixed.reasons[kernel.name] = str(error)
    if not mixed.reasons:
        return _put(lowered, mixed), mixed
    rest = plain()
    if not mixed.made or rest[1].constants != facts.constants:
        # One module has one size of each name.
        return rest, replace(mixed, made={})
    return _put(rest, mixed), mixed


def _put(lowered: Lowered, mixed: Mixed) -> Lowered:
    """Kernels of Gluon in the place of those in Triton."""
    tree, facts = lowered
    body: list[ast.stmt] = []
    for statement in tree.body:
        name = statement.name if isinstance(statement, ast.FunctionDef) else ""
        body += mixed.made[name].functions if name in mixed.made else [statement]
    constants = dict(facts.constants)
    for one in mixed.made.values():
        constants.update(one.constants)
    launches = [
        mixed.made[one.kernel].launch if one.kernel in mixed.made else one for one in facts.launches
    ]
    patches = [one for one in facts.patches if one.kernel not in mixed.made]
    result = replace(facts, constants=constants, launches=launches, patches=patches)
    return ast.Module(body, []), result
