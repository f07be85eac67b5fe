"""Hints in loops that make no turn, as constants say: nothing is compiled that they could be of."""

import ast
from collections.abc import Iterator
from dataclasses import replace

from rewrites.facts import Facts, HintOutcome
from rewrites.tree import blocks_of, walk

# A line of the user's, and its file, which is empty for the kernel's own.
Place = tuple[int, str]
_ACCESSES = ("load", "store", "atomic", "dot")
_REASON = "its loop makes no turn"


def refuse_idle(kernels: list[ast.FunctionDef], facts: Facts) -> None:
    """Say of the hints that stand in such loops only that they are not applied."""
    idle: set[Place] = set()
    busy: set[Place] = set()
    for kernel in kernels:
        _sort(kernel.body, False, facts, idle, busy)
    idle -= busy
    facts.hint_report = [_refused(one) if _place(one) in idle else one for one in facts.hint_report]
    facts.patches = [
        one for one in facts.patches if not one.construct or (one.line, one.filename) not in idle
    ]


def places_in(tree: ast.AST, facts: Facts) -> Iterator[Place]:
    """The user's lines that statements were made of."""
    for node in walk(tree):
        filename = node.__dict__.get("filename", "")
        yield node.__dict__.get("lineno", 0), "" if filename == facts.filename else filename


def _place(hint: HintOutcome) -> Place:
    return hint.line, hint.filename


def _refused(hint: HintOutcome) -> HintOutcome:
    return replace(hint, how="none", detail=_REASON, claim=None)


def _sort(
    body: list[ast.stmt], is_idle: bool, facts: Facts, idle: set[Place], busy: set[Place]
) -> None:
    for statement in body:
        without_turn = is_idle or _makes_no_turn(statement, facts)
        blocks = list(blocks_of(statement))
        if without_turn:
            idle.update(places_in(statement, facts))
        elif not blocks and _moves_or_multiplies(statement):
            # Addresses may stand in front of a loop that needs them.
            busy.update(places_in(statement, facts))
        if without_turn:
            continue
        for block in blocks:
            _sort(block, False, facts, idle, busy)


def _moves_or_multiplies(statement: ast.stmt) -> bool:
    return any(
        isinstance(node, ast.Attribute) and node.attr.startswith(_ACCESSES)
        for node in walk(statement)
    )


def _makes_no_turn(statement: ast.stmt, facts: Facts) -> bool:
    match statement:
        case ast.For(iter=ast.Call(args=args)) if args:
            bounds = [_number(one, facts) for one in args]
        case _:
            return False
    start, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    if start is None or stop is None or step is None:
        return False
    return start >= stop if step > 0 else start <= stop


def _number(tree: ast.expr, facts: Facts) -> int | None:
    match tree:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name):
            known = facts.constants.get(name)
            return known if isinstance(known, int) else None
    return None
