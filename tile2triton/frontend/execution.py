"""Instrumented code: made once for each function, executed for each trace, its errors explained."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType, ModuleType
from typing import Any

from rewrites.tree import walk
from tile2triton.diagnostics import Diagnostic, TileError, at_node, at_span
from tile2triton.frontend.builder import Builder
from tile2triton.frontend.instrument import instrument
from tile2triton.frontend.positions import of_traceback
from tile2triton.frontend.spans import remember
from tile2triton.frontend.syntax import syntax_problems
from tile2triton.source import Source, read_code

# The language, and what it is called where `tile2triton.compat` is installed.
LANGUAGES = (
    "tile2triton.language",
    "tilelang.language",
    "tilelang.cpu.language",
    "tilelang.cuda.language",
    "tilelang.metal.language",
    "tilelang.rocm.language",
    "tilelang.webgpu.language",
)


@dataclass(frozen=True)
class Prepared:
    """A function's source and its instrumented code."""

    source: Source
    code: CodeType | None
    problems: tuple[Diagnostic, ...]


# Equal code of two files is one key, so the file is part of it.
_prepared: dict[tuple[CodeType, str], Prepared] = {}


def prepare(code: CodeType) -> Prepared:
    """Read and instrument a function, once; what its syntax has wrong is kept with it."""
    known = _prepared.get((code, code.co_filename))
    if known is None:
        source = read_code(code)
        remember(source)
        problems = syntax_problems(source)
        made = None
        if not problems:
            made = compile(instrument(source), source.filename, "exec", dont_inherit=True)
        known = _prepared[code, code.co_filename] = Prepared(source, made, problems)
    return known


def check_names(prepared: Prepared, environment: dict[str, Any]) -> None:
    """Report unsupported syntax and every name that the language does not have, all together."""
    source, problems = prepared.source, list(prepared.problems)
    languages = {name: value for name, value in environment.items() if is_language(value)}
    for node in walk(source.tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            language = languages.get(node.value.id)
            if language is not None and node.attr not in language.__dict__:
                problems.append(unknown_name(node, source.filename, language))
    if problems:
        problems.sort(key=lambda problem: (problem.line, problem.column))
        raise TileError(*problems)


def is_language(value: Any) -> bool:
    """Whether the value is the module that users import as `T`."""
    return isinstance(value, ModuleType) and value.__name__ in LANGUAGES


def unknown_name(node: ast.Attribute, filename: str, language: ModuleType) -> Diagnostic:
    names = [name for name in language.__dict__ if not name.startswith("_")]
    close = difflib.get_close_matches(node.attr, names, 1)
    shown = ast.unparse(node.value)
    return at_node(
        node,
        filename,
        "T2T110",
        f"the language has no `{shown}.{node.attr}`",
        hint=f"did you mean `{shown}.{close[0]}`?"
        if close
        else "docs/operators.md lists what there is",
    )


def executable(prepared: Prepared, environment: dict[str, Any]) -> Callable[..., Any]:
    """The instrumented function, to be called with a tracer and its arguments."""
    assert prepared.code is not None, "functions with problems are reported before"
    name = prepared.source.tree.name
    known = name in environment
    # To the function itself its name means what it means around it: the kernel or macro.
    before = environment.get(name)
    exec(prepared.code, environment)
    function = environment[name]
    assert callable(function)
    if known:
        environment[name] = before
    return function  # type: ignore[no-any-return]


@contextmanager
def explained(builder: Builder) -> Iterator[None]:
    """Turn whatever the user's code raises into their error, with what was found before."""
    try:
        yield
    except TileError as error:
        raise TileError(*builder.problems, *error.diagnostics) from None
    except Exception as error:
        position = of_traceback(error.__traceback__)
        said = str(error)
        diagnostic = at_span(
            position.filename,
            position.span,
            "T2T170",
            f"{type(error).__name__}: {said}" if said else type(error).__name__,
            hint="Python raised this while the kernel was traced",
        )
        raise TileError(*builder.problems, diagnostic) from error
    if builder.problems:
        raise TileError(*builder.problems)
