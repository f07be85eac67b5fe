"""Whether a function without T.Kernel makes kernels, or is itself a program on whole operands."""

from __future__ import annotations

import ast
import builtins
import inspect
from dataclasses import dataclass
from types import FunctionType, MethodType
from typing import Any

from tile2triton.frontend.execution import is_language
from tile2triton.frontend.positions import is_users
from tile2triton.source import find_function

# What makes a kernel of a function in a factory, and the classes of what is made.
_MAKERS = ("prim_func", "kernel", "jit")
_MADE = ("PrimFunc", "CompiledKernel", "LazyKernel", "EagerKernel", "AutotunedKernel")


@dataclass(frozen=True)
class _Scope:
    """What names mean in a function; of its own variables that is not known."""

    environment: dict[str, Any]
    unknown: frozenset[str]
    inside: frozenset[str]

    def knows(self, name: str) -> bool:
        is_local = name in self.unknown or name in self.inside
        return not is_local and (name in self.environment or hasattr(builtins, name))

    def get(self, name: str) -> Any:
        if not self.knows(name):
            return None
        return self.environment.get(name, getattr(builtins, name, None))


def makes_kernels(function: FunctionType, values: dict[str, Any]) -> bool | None:
    """Whether the function returns kernels; None: it calls what nobody knows yet.

    A factory has a function under @T.prim_func, calls another one that has, or names a kernel with
    T.Kernel. `values` are those of names from functions around it.
    """
    return _makes(function, values, set())


def _makes(function: FunctionType, values: dict[str, Any], seen: set[int]) -> bool | None:
    if id(function) in seen:
        return False
    seen.add(id(function))
    found = find_function(function.__code__)
    if found is None:
        return None
    tree = found[0]
    if any(
        _is_maker(decorator)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node is not tree
        for decorator in node.decorator_list
    ):
        return True
    environment = {**function.__globals__, **_cells(function), **values}
    code = function.__code__
    unknown = {*code.co_varnames, *code.co_cellvars}
    # What functions defined inside do is part of the tree.
    inside = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    scope = _Scope(environment, frozenset(unknown - inside), frozenset(inside))
    answers = [
        _is_made_by(node, scope, seen) for statement in tree.body for node in ast.walk(statement)
    ]
    return True if True in answers else None if None in answers else False


def _is_maker(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return ast.unparse(called).rpartition(".")[2] in _MAKERS


def _is_made_by(node: ast.AST, scope: _Scope, seen: set[int]) -> bool | None:
    """Whether a kernel comes from this name or call; None for a call of what is not known."""
    if isinstance(node, ast.Name):
        return _is_kernel(scope.get(node.id), seen)
    if not isinstance(node, ast.Call):
        return False
    match node.func:
        case ast.Name(id=name):
            if name in scope.inside:
                return False
            return _called(scope.get(name), seen) if scope.knows(name) else None
        case ast.Attribute(value=ast.Name(id=name), attr=attribute) if scope.knows(name):
            owner = scope.get(name)
            if is_language(owner):
                return attribute in _MAKERS
            return _called(getattr(owner, attribute, None), seen)
    return False


def _is_kernel(value: Any, seen: set[int]) -> bool | None:
    """Whether a value is a kernel, or makes some; a program on whole operands does neither."""
    program = getattr(value, "undecided", None) if type(value).__name__ in _MADE else None
    if program is not None:
        return _makes(program.captured.function, program.captured.values, seen)
    return type(value).__name__ in _MADE


def _called(value: Any, seen: set[int]) -> bool | None:
    """Whether a call of this value makes a kernel."""
    if isinstance(value, MethodType):
        value = value.__func__
    if isinstance(value, FunctionType):
        return is_users(value.__code__.co_filename) and _makes(value, {}, seen)
    if type(value).__name__ in _MADE:
        return _is_kernel(value, seen)
    # An object of a class of the user's may be anything.
    module = inspect.getmodule(value) if isinstance(value, type) else None
    return None if module is not None and is_users(getattr(module, "__file__", "<")) else False


def _cells(function: FunctionType) -> dict[str, Any]:
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    found = {}
    for name, cell in cells:
        try:
            found[name] = cell.cell_contents
        except ValueError:
            continue
    return found
