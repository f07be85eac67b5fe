"""A module's kernels in Gluon, as far as they can be; the others stay as they are in Triton."""

import ast
from collections.abc import Iterator
from dataclasses import replace

from rewrites.facts import Facts, Launch
from rewrites.gluon.errors import UnsuitedError
from rewrites.gluon.specialize import specialized
from rewrites.tree import kernels_of


def specialize(
    tree: ast.Module, facts: Facts, plain: ast.Module, plain_facts: Facts
) -> tuple[ast.Module, Facts, list[str]]:
    """The module, its facts, and why kernels are left in Triton.

    `tree` has kernels as they are before loops are rotated and products waited for; `plain` has the
    same kernels as Triton runs them.
    """
    consumers = facts.schedule.consumers
    assert consumers is not None
    body: list[ast.stmt] = []
    launches = []
    reasons: list[str] = []
    patches = list(plain_facts.patches)
    result = replace(plain_facts, constants=dict(plain_facts.constants))
    originals = {one.name: one for one in kernels_of(tree)}
    known = {launch.kernel: launch for launch in facts.launches}
    for statement, launch in _with_launches(plain, plain_facts):
        if not isinstance(statement, ast.FunctionDef) or launch is None:
            body.append(statement)
            continue
        try:
            original = originals[statement.name]
            made = specialized(original, known[statement.name], facts, consumers)
        except UnsuitedError as error:
            reasons.append(f"`{statement.name}`: {error}")
            body.append(statement)
            launches.append(launch)
            continue
        body += made.functions
        launches.append(made.launch)
        result.constants.update(made.constants)
        patches = [one for one in patches if one.kernel != statement.name]
    result.launches, result.patches = launches, patches
    return ast.Module(body, []), result, reasons


def _with_launches(tree: ast.Module, facts: Facts) -> Iterator[tuple[ast.stmt, Launch | None]]:
    launches = {launch.kernel: launch for launch in facts.launches}
    for statement in tree.body:
        yield statement, launches.get(getattr(statement, "name", ""))
