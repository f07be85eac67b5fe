"""Which statement each of the user's comments and blank lines stands before."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from tile2triton.source import Remark, Source

# A comment's text, or None for a blank line.
Token = str | None


@dataclass
class Remarks:
    """What stands before a statement and at the end of a block, by the identity of the node."""

    before: dict[int, list[Token]] = field(default_factory=dict)
    # Keyed by the last statement of the block.
    after: dict[int, list[Token]] = field(default_factory=dict)


def distribute(source: Source) -> Remarks:
    """Attach every comment to the first statement of its block that starts on its line or later."""
    leading: dict[int, list[Remark]] = {}
    remarks = Remarks()
    first = source.tree.body[0].lineno
    for remark in source.remarks:
        statement, is_last = _home(remark, source.tree.body)
        if is_last:
            remarks.after.setdefault(id(statement), []).append(remark.text)
        elif remark.line >= first or remark.alone:
            leading.setdefault(id(statement), []).append(remark)
    for block in _blocks(source.tree):
        previous = None
        for statement in block:
            places = [r.line for r in leading.get(id(statement), []) if r.line < statement.lineno]
            texts: list[Token] = [r.text for r in leading.get(id(statement), [])]
            tokens: list[Token] = []
            line = (previous.end_lineno or 0) if previous is not None else None
            for at, text in zip(
                [*places, statement.lineno], [*texts[: len(places)], ""], strict=True
            ):
                if line is not None and any(n in source.blanks for n in range(line + 1, at)):
                    tokens.append(None)
                if text:
                    tokens.append(text)
                line = at
            # Comments beside or inside the statement go right above it.
            tokens += texts[len(places) :]
            if tokens:
                remarks.before[id(statement)] = tokens
            previous = statement
    return remarks


def _home(remark: Remark, block: list[ast.stmt]) -> tuple[ast.stmt, bool]:
    """The statement that the comment belongs to, and whether it comes after it as a last one."""
    previous = None
    for statement in block:
        if remark.line < statement.lineno:
            if previous is not None and _is_deeper(remark, previous):
                return _home(remark, _inner(previous)[-1])
            return statement, False
        if remark.line <= (statement.end_lineno or statement.lineno):
            for inner in reversed(_inner(statement)):
                if remark.line > _header_end(statement) and (
                    remark.line >= inner[0].lineno or inner is _inner(statement)[0]
                ):
                    return _home(remark, inner)
                if (
                    remark.line > _end_before(statement, inner)
                    and _inner(statement)[0] is not inner
                ):
                    return inner[0], False
            return statement, False
        previous = statement
    assert previous is not None
    if _is_deeper(remark, previous):
        return _home(remark, _inner(previous)[-1])
    return previous, True


def _is_deeper(remark: Remark, statement: ast.stmt) -> bool:
    return bool(_inner(statement)) and remark.alone and remark.column > statement.col_offset


def _end_before(statement: ast.stmt, inner: list[ast.stmt]) -> int:
    """The last line of the block that precedes `inner` in its statement."""
    blocks = _inner(statement)
    at = next(index for index, block in enumerate(blocks) if block is inner)
    return blocks[at - 1][-1].end_lineno or 0 if at else _header_end(statement)


def _header_end(statement: ast.stmt) -> int:
    match statement:
        case ast.If(test=tree) | ast.While(test=tree) | ast.For(iter=tree):
            return tree.end_lineno or statement.lineno
        case ast.With(items=items):
            last = items[-1].optional_vars or items[-1].context_expr
            return last.end_lineno or statement.lineno
        case ast.FunctionDef(body=body):
            return body[0].lineno - 1
    return statement.lineno


def _inner(statement: ast.stmt) -> list[list[ast.stmt]]:
    """The blocks inside a compound statement, in order."""
    match statement:
        case ast.If() | ast.For() | ast.While():
            return [block for block in (statement.body, statement.orelse) if block]
        case ast.With():
            return [statement.body]
    return []


def _blocks(function: ast.FunctionDef) -> list[list[ast.stmt]]:
    found = [function.body]
    for block in found:
        for statement in block:
            found += _inner(statement)
    return found
