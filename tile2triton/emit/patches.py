"""The block of an emitted module that asks for patches of what Triton makes of its kernels."""

import ast
import os
from itertools import groupby

from rewrites.facts import Facts, Patch
from rewrites.nodes import Blank, Comment
from rewrites.quote import expr, literal, name, stmts

WHY = "What Triton's language cannot say; without tile2triton it is left out."


def patch_block(facts: Facts) -> list[ast.stmt]:
    """Calls of `patch`, one for each kernel that has any, behind an import that may fail."""
    if not facts.patches:
        return []
    (attempt,) = stmts(
        "try:\n    from tile2triton.ttgir import patch\nexcept ImportError:\n    pass"
    )
    assert isinstance(attempt, ast.Try), "what was quoted is no try"
    attempt.orelse = [
        ast.Expr(
            ast.Call(name("patch"), [name(kernel), *(_request(one, facts) for one in asked)], [])
        )
        for kernel, asked in groupby(_in_order(facts), lambda one: one.kernel)
    ]
    return [Comment(WHY), attempt, Blank()]


def without_patches(text: str) -> str:
    """A module that asks for no patches, with everything else on the line where it was."""
    lines = text.splitlines(keepends=True)
    for node in ast.parse(text).body:
        match node:
            case ast.Try(body=[ast.ImportFrom(module="tile2triton.ttgir")], end_lineno=int(last)):
                lines[node.lineno - 1 : last] = ["\n"] * (last - node.lineno + 1)
    return "".join(lines)


def patch_sentence(facts: Facts) -> str:
    """The sentence of the module's docstring that names them."""
    said = ((one.kind, one.anchor or one.kernel) for one in _in_order(facts))
    named = dict.fromkeys(f"{kind} of {of}" for kind, of in said)
    return f"Patched where tile2triton is installed: {', '.join(named)}." if named else ""


def _in_order(facts: Facts) -> list[Patch]:
    """By kernel, in the order of the launches."""
    kernels = [launch.kernel for launch in facts.launches]
    return sorted(facts.patches, key=lambda one: kernels.index(one.kernel))


def _request(patch: Patch, facts: Facts) -> ast.expr:
    keys: list[ast.expr | None] = [ast.Constant(key) for key, _ in patch.arguments]
    values = [expr(repr(value)) for _, value in patch.arguments]
    parts = [ast.Constant(patch.kind), ast.Constant(patch.anchor), ast.Dict(keys, values)]
    if not patch.construct:
        return ast.Tuple(parts, ast.Load())
    filename = "" if patch.filename == facts.filename else patch.filename
    said = said_in_module(patch.line, filename, patch.construct)
    return ast.Tuple([*parts, literal(said)], ast.Load())


def said_in_module(line: int, filename: str, construct: str) -> str:
    """How an emitted module names the hint that a patch stands for; its own file is ""."""
    where = f"{os.path.basename(filename)}:{line}" if filename else f"line {line}"
    return f"{where}: {construct}"
