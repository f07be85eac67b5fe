"""Set down what becomes of a hint: said in Triton, left to a patch, or not applied and why."""

import ast
from collections.abc import Iterable
from typing import NamedTuple

from rewrites.facts import Argument, Claim, Facts, HintOutcome, HintRequest

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
    outcome(facts, construct, getattr(node, "lineno", 0), filename, how, detail, claim)


def outcome(
    facts: Facts,
    construct: str,
    line: int,
    filename: str,
    how: str,
    detail: str,
    claim: Claim | None = None,
) -> None:
    """Set down what became of a hint, once for each that the user wrote."""
    if filename == facts.filename:
        filename = ""
    made = HintOutcome(construct, line, facts.target, how, detail, filename, claim)
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
    )
    if made not in facts.hint_requests:
        facts.hint_requests.append(made)


def with_option(call: ast.Call, option: str) -> str:
    """A call as the user wrote it, with one of its optional arguments only."""
    kept = [keyword for keyword in call.keywords if keyword.arg == option]
    assert isinstance(call.func, ast.Attribute)
    words = [ast.unparse(one) for one in (*call.args, *kept)]
    return f"T.{call.func.attr}({', '.join(words)})"
