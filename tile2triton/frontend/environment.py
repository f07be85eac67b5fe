"""What the names in a kernel function mean, as captured when it is decorated."""

from __future__ import annotations

import ast
import builtins
from dataclasses import dataclass
from types import CodeType, FrameType, FunctionType
from typing import Any

from rewrites.tree import walk
from tile2triton.diagnostics import ArgumentError, Diagnostic
from tile2triton.frontend.decisions import noted
from tile2triton.frontend.statics import named
from tile2triton.source import find_function


@dataclass(frozen=True)
class Captured:
    """A function and what its free names meant when it was decorated."""

    function: FunctionType
    values: dict[str, Any]
    # The function that it was defined in, where there is one.
    factory: CodeType | None = None
    # What that one decided from its numbers; it may still decide more.
    decided: list[ast.expr] | None = None


def capture(function: object, frame: FrameType | None = None) -> Captured:
    """The function with its closure and, for names in annotations, its factory's locals."""
    if not isinstance(function, FunctionType):
        raise ArgumentError(
            Diagnostic(
                "T2T414",
                f"a kernel is a Python function, not `{function!r}`",
                hint="write the decorator above a `def`",
            )
        )
    values: dict[str, Any] = {}
    factory = None
    if frame is not None and frame.f_code.co_name != "<module>":
        values.update(frame.f_locals)
        factory = frame.f_code
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            values[name] = cell.cell_contents
        except ValueError:
            # Not assigned yet; Python says so where the name is used.
            continue
    return Captured(function, values, factory, noted())


def environment_of(captured: Captured, tree: ast.AST) -> dict[str, Any]:
    """The globals to execute the function with: numbers that it names remember their names."""
    environment = dict(captured.function.__globals__)
    environment.update(captured.values)
    environment.setdefault("__builtins__", builtins)
    # Module-level names are constants of the kernel as much as the factory's.
    used = {node.id for node in walk(tree) if isinstance(node, ast.Name)}
    for name in used & environment.keys():
        environment[name] = named(name, environment[name])
    if captured.factory is not None:
        _name_lists(environment, used, captured.factory)
    return environment


def _name_lists(environment: dict[str, Any], used: set[str], factory: CodeType) -> None:
    """`shape = [batch, dim]` in the factory gives named sizes, where that is all it can mean."""
    lists = {
        name
        for name in used & environment.keys()
        if isinstance(environment[name], (list, tuple)) and environment[name]
    }
    found = find_function(factory) if lists else None
    if found is None:
        return
    # None for what is assigned otherwise than by `name = tree`.
    assigned: dict[str, list[ast.expr | None]] = {}
    for node in walk(found[0]):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                for name in (n.id for n in walk(target) if isinstance(n, ast.Name)):
                    is_plain = isinstance(target, ast.Name)
                    assigned.setdefault(name, []).append(node.value if is_plain else None)
    scope = {name: named(name, value) for name, value in environment.items()}
    for name in lists:
        tree, *others = assigned.get(name, [None])
        if tree is not None and not others and _is_simple(tree):
            code = compile(ast.Expression(tree), "<factory>", "eval")
            try:
                value = eval(code, scope)
            except Exception:  # a nicety must not fail where the program itself does not
                continue
            if _is_same(value, environment[name]):
                environment[name] = value


def _is_simple(tree: ast.expr) -> bool:
    """Whether evaluating it again can do nothing but compute the same value."""
    simple = (
        ast.List,
        ast.Tuple,
        ast.Name,
        ast.Constant,
        ast.BinOp,
        ast.UnaryOp,
        ast.IfExp,
        ast.Compare,
        ast.BoolOp,
        ast.operator,
        ast.unaryop,
        ast.cmpop,
        ast.boolop,
        ast.expr_context,
    )
    return all(isinstance(node, simple) for node in walk(tree))


def _is_same(value: Any, known: Any) -> bool:
    if isinstance(known, (list, tuple)):
        return (
            type(value) is type(known)
            and len(value) == len(known)
            and all(_is_same(a, b) for a, b in zip(value, known, strict=True))
        )
    if isinstance(known, (int, float)):
        return isinstance(value, (int, float)) and bool(value == known)
    return value is known
