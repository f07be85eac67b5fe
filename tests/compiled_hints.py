"""Kernels with hints as compilers give them back, and as they are given to compilers."""

import ast
import re
from typing import Any

import tile2triton
from tile2triton import compile_check
from tile2triton.explaining.report import Explained, explained


def compiled(made: Any, target: str, **settings: Any) -> tuple[Explained, dict[str, str]]:
    """What is said of the kernel, and what the compiler made."""
    kernel = tile2triton.transpile(made, target=target, **settings)
    text, facts = kernel.emitted_for(target)
    reports = compile_check.check_all([(text, facts, target)], is_listed=True)
    (said,) = explained(text, facts, reports)
    assert not said.problem, said.problem
    return said, dict(reports[0].listing)


def given_to_triton(made: Any, target: str, **settings: Any) -> tuple[Any, ...]:
    """All that decides about machine code: kernels with their launches, and patches."""
    kernel = tile2triton.transpile(made, target=target, **settings)
    text, facts = kernel.emitted_for(target)
    # Comments, which name hints, are no part of a tree; the docstring and patches may name them.
    _, *rest = ast.parse(text).body
    code = [ast.dump(one) for one in rest if not isinstance(one, ast.Try)]
    return code, [(one.kind, one.anchor, one.arguments) for one in facts.patches]


def moved(said: Explained, kind: str = "load") -> dict[str, int]:
    """How often each instruction moves tiles."""
    found: dict[str, int] = {}
    for move in said.tiles.moves:
        for name, count in move.instructions.items():
            if move.kind == kind:
                found[name] = found.get(name, 0) + count
    return found


def how(said: Explained, part: str) -> str:
    """What became of the only hint that is written so."""
    (hint,) = [one for one in said.hints if part in one.construct]
    return hint.how


def instructions(listing: dict[str, str]) -> list[str]:
    """The lines of machine code that do something, without comments and names."""
    lines = (re.split("//|; ", line)[0].strip() for line in listing["machine"].splitlines())
    return [line for line in lines if re.match(r"(?:@\S+ )?[a-z][\w.:]*(?:\s|;)", line)]
