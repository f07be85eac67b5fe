"""Set down what becomes of a hint: said in Triton, left to a patch, or not applied and why."""

import ast
from collections.abc import Iterable
from typing import NamedTuple

from rewrites.facts import Argument, Claim, Facts, HintOutcome, HintRequest
from rewrites.quote import copy_tree
from rewrites.tree import names_in, walk

# What calls are called by that a pass has changed: the call as it was.
WRITTEN = "written"
# Where a hint is of several places, what became of it is the least that became of it anywhere.
_RANKS = {"native": 0, "patch": 1, "none": 2}


class Settled(NamedTuple):
    """How a hint is applied, the words for it, and what compiled code must show of it."""

    how: str
    detail: str
    claim: Claim | None = None


def note(
    facts: Facts,
    node: ast.AST,
    construct: str,
    how: str,
    detail: str,
    claim: Claim | None = None,
) -> None:
    """Set down what became of the hint that stands at `node`."""
    filename = node.__dict__.get("filename", "")
    line, names = getattr(node, "lineno", 0), _names(node)
    outcome(facts, construct, line, filename, how, detail, claim, names)


def outcome(
    facts: Facts,
    construct: str,
    line: int,
    filename: str,
    how: str,
    detail: str,
    claim: Claim | None = None,
    names: tuple[str, ...] = (),
) -> None:
    """Set down what became of a hint, once for each that the user wrote."""
    if filename == facts.filename:
        filename = ""
    made = HintOutcome(construct, line, facts.target, how, detail, filename, claim, names)
    for at, known in enumerate(facts.hint_report):
        if (known.construct, known.line, known.filename) == (construct, line, filename):
            if _RANKS[how] > _RANKS[known.how]:
                facts.hint_report[at] = made
            return
    facts.hint_report.append(made)


def request(
    facts: Facts,
    node: ast.AST,
    construct: str,
    block: int,
    kind: str,
    anchor: str = "",
    arguments: Iterable[tuple[str, Argument]] = (),
) -> None:
    """Leave a hint to be settled when the launches are known."""
    made = HintRequest(
        kind,
        construct,
        getattr(node, "lineno", 0),
        block,
        anchor,
        tuple(arguments),
        node.__dict__.get("filename", ""),
        _names(node),
    )
    if made not in facts.hint_requests:
        facts.hint_requests.append(made)


def with_option(facts: Facts, call: ast.Call, option: str) -> str:
    """A call as the user wrote it, with one of its optional arguments only."""
    call = call.__dict__.get(WRITTEN, call)
    kept = [keyword for keyword in call.keywords if keyword.arg == option]
    assert isinstance(call.func, ast.Attribute)
    words = [as_user_wrote(facts, one) for one in (*call.args, *kept)]
    return f"T.{call.func.attr}({', '.join(words)})"


def as_user_wrote(facts: Facts, tree: ast.AST) -> str:
    """Part of the program in the user's own names."""
    shown = copy_tree(tree)
    for node in walk(shown):
        if isinstance(node, ast.Name):
            node.id = facts.written_names.get(node.id, node.id)
    return ast.unparse(shown)


def _names(node: ast.AST) -> tuple[str, ...]:
    return tuple(sorted(names_in(node)))
