"""Make a program that fails smaller: take statements away, put parts in the place of wholes."""

import ast
import copy
from collections.abc import Callable, Iterator

from tests.fuzz.outcome import Judge, Outcome

Fails = Callable[[str], bool]


def shrunk(text: str, judge: Judge) -> str:
    """The least module found that fails for the reason that `text` fails for, and how it fails."""
    first = judge(text)

    def fails(candidate: str) -> bool:
        found = judge(candidate)
        return (found.kind, found.reason) == (first.kind, first.reason)

    least = shrink(text, fails)
    return described(least, judge(least))


def shrink(text: str, fails: Fails, tries: int = 1500) -> str:
    """The least module that `fails`, by greedy descent."""
    best = ast.unparse(ast.parse(text))
    if not fails(best):
        return text
    progress = True
    while progress and tries > 0:
        progress = False
        at = 0
        # A change that helps is tried again at its place, which holds another node now.
        while tries > 0:
            candidate = _change(best, at)
            if candidate is None:
                break
            tries -= 1
            if len(candidate) < len(best) and fails(candidate):
                best, progress = candidate, True
            else:
                at += 1
    return best


def _change(text: str, number: int) -> str | None:
    """The module after its `number`-th change."""
    tree = ast.parse(text)
    for at, apply in enumerate(_changes(tree)):
        if at == number:
            apply()
            try:
                return ast.unparse(ast.fix_missing_locations(tree))
            except (AttributeError, ValueError):
                return ""
    return None


def _changes(tree: ast.Module) -> Iterator[Callable[[], None]]:
    """Large ones first: statements, then expressions."""
    for owner in ast.walk(tree):
        for field in ("body", "orelse"):
            block = getattr(owner, field, None)
            if not isinstance(block, list):
                continue
            for at in range(len(block) - 1, -1, -1):
                yield from _on_statement(block, at, field)
    for parent in ast.walk(tree):
        if isinstance(parent, ast.FunctionDef):
            yield from (_dropped_parameter(parent.args, at) for at in range(len(parent.args.args)))
        for field, value in ast.iter_fields(parent):
            if isinstance(value, ast.expr):
                yield from (_set(parent, field, part) for part in _smaller(value))
            elif isinstance(value, list):
                for at, item in enumerate(value):
                    if isinstance(item, ast.expr):
                        yield from (_put(value, at, part) for part in _smaller(item))


def _on_statement(block: list[ast.stmt], at: int, field: str) -> Iterator[Callable[[], None]]:
    statement = block[at]
    if isinstance(statement, (ast.Import, ast.FunctionDef, ast.Pass)):
        return
    yield lambda: _replace(block, at, [] if len(block) > 1 or field == "orelse" else [ast.Pass()])
    if isinstance(statement, (ast.If, ast.For, ast.While)):
        yield lambda: _replace(block, at, statement.body)
        if statement.orelse:
            yield lambda: _replace(block, at, statement.orelse)


def _replace(block: list[ast.stmt], at: int, new: list[ast.stmt]) -> None:
    block[at : at + 1] = new


def _smaller(tree: ast.expr) -> Iterator[ast.expr]:
    """What may stand in the place of an expression."""
    match tree:
        case ast.BinOp(left=left, right=right):
            yield from (left, right)
        case ast.UnaryOp(operand=operand):
            yield operand
        case ast.Compare(left=left, comparators=[right]):
            yield from (left, right)
        case ast.BoolOp(values=values):
            yield from values
        case ast.IfExp(body=body, orelse=orelse):
            yield from (body, orelse)
        case ast.Call(args=arguments):
            yield from arguments
            if tree.keywords:
                shorter = copy.copy(tree)
                shorter.keywords = tree.keywords[:-1]
                yield shorter
        case ast.Slice(lower=ast.expr() as lower):
            yield lower
        case ast.Constant(value=int() as value) if value > 1:
            for less in (1, value // 2, value - 1):
                yield ast.Constant(less)
        case ast.Subscript():
            yield ast.Constant(1)


def _set(owner: ast.AST, field: str, value: ast.expr) -> Callable[[], None]:
    return lambda: setattr(owner, field, value)


def _put(items: list[ast.expr], at: int, value: ast.expr) -> Callable[[], None]:
    return lambda: items.__setitem__(at, value)


def _dropped_parameter(arguments: ast.arguments, at: int) -> Callable[[], None]:
    return lambda: arguments.args.__delitem__(at)


def described(text: str, found: Outcome) -> str:
    lines = [text, "", f"# {found.kind}: {found.reason}"]
    lines += [f"# {line}" for line in found.detail.strip().splitlines()[-12:]]
    return "\n".join(lines)
