"""What an eager kernel declares of its parameters, found without tracing its body.

The statements that the declarations depend on are executed by themselves, with a stand-in for each
T.const size; where a stand-in is an extent of a tensor, that is where its value comes from.
"""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from tile2triton.diagnostics import ArgumentError, Diagnostic
from tile2triton.frontend.builder import Builder, activated
from tile2triton.frontend.declarations import Pointer, Probe, Tensor
from tile2triton.frontend.dtypes import is_dtype
from tile2triton.frontend.environment import Captured, environment_of
from tile2triton.frontend.execution import check_names, explained, is_language, prepare
from tile2triton.frontend.liveness import assigned_names, names_in
from tile2triton.frontend.operators import TABLE
from tile2triton.frontend.statics import plain
from tile2triton.frontend.whole_operands import METHODS

_DECLARE = "_t2t_declare"


class Source(NamedTuple):
    """Where a size is read: an extent or a stride of an argument."""

    parameter: str
    axis: int
    is_stride: bool = False

    def read(self, tensor: Any) -> int:
        value = tensor.stride(self.axis) if self.is_stride else tensor.shape[self.axis]
        return int(plain(value))

    @property
    def code(self) -> str:
        """The same as Python text."""
        access = f"stride({self.axis})" if self.is_stride else f"shape[{self.axis}]"
        return f"{self.parameter}.{access}"


@dataclass(frozen=True)
class Declarations:
    """The tensors among the parameters, and where the sizes are read."""

    tensors: dict[str, Tensor]
    consts: dict[str, Source]


class _Probes(dict[str, Any]):
    def get(self, name: str, default: Any = None) -> Any:
        return Probe(name)


def declared_parameters(captured: Captured) -> tuple[str, ...]:
    """The parameters that are tensors or run-time scalars; the others are static."""
    tree = prepare(captured.function.__code__).source.tree
    environment = {**captured.function.__globals__, **captured.values}
    declared = {
        node.target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.AnnAssign)
        and node.value is None
        and isinstance(node.target, ast.Name)
    }
    names = []
    for name in captured.function.__code__.co_varnames[: _count(captured)]:
        annotation = captured.function.__annotations__.get(name)
        if type(annotation) is str:
            try:
                annotation = eval(annotation, environment)
            except Exception:  # an annotation for other tools, which need not have a value
                annotation = None
        is_typed = isinstance(annotation, (Tensor, Pointer)) or is_dtype(annotation)
        if name in declared or is_typed:
            names.append(name)
    return tuple(names)


def find_declarations(captured: Captured, statics: dict[str, Any]) -> Declarations:
    """Execute what declares the parameters, for these static arguments."""
    prepared = prepare(captured.function.__code__)
    source = prepared.source
    environment = environment_of(captured, source.tree)
    check_names(prepared, environment)
    parameters = declared_parameters(captured)
    tensors: dict[str, Tensor] = {}

    def declare(name: str, annotation: Any) -> Any:
        if isinstance(annotation, Tensor):
            tensors[name] = annotation
        return annotation

    for name in parameters:
        annotation = captured.function.__annotations__.get(name)
        if type(annotation) is str:
            annotation = eval(annotation, environment)
        declare(name, annotation)
    module = ast.Module(_sliced(source.tree.body, set(parameters)), [])
    code = compile(ast.fix_missing_locations(module), source.filename, "exec")
    builder = Builder(source.tree.name, source.filename)
    builder.consts = _Probes()
    environment.update(statics)
    environment[_DECLARE] = declare
    with activated(builder), explained(builder):
        exec(code, environment)
    consts: dict[str, Source] = {}
    for is_stride in (False, True):
        for name in (one for one in parameters if one in tensors):
            sizes = tensors[name].strides if is_stride else tensors[name].shape
            for axis, size in enumerate(sizes):
                if isinstance(size, Probe):
                    consts.setdefault(size.name, Source(name, axis, is_stride))
    return Declarations(tensors, consts)


def uses_language(captured: Captured) -> bool:
    """Whether the function's own body is a kernel, rather than a factory of one."""
    tree = prepare(captured.function.__code__).source.tree
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node is not tree:
            for decorator in node.decorator_list:
                called = decorator.func if isinstance(decorator, ast.Call) else decorator
                if ast.unparse(called).rpartition(".")[2] == "prim_func":
                    return False
    environment = {**captured.function.__globals__, **captured.values}
    return bool(declared_parameters(captured)) or any(
        isinstance(node, ast.Attribute)
        and node.attr in ("Kernel", "const", "empty")
        and isinstance(node.value, ast.Name)
        and is_language(environment.get(node.value.id))
        for statement in tree.body
        if not isinstance(statement, ast.FunctionDef)
        for node in ast.walk(statement)
    )


def uses_whole_operands(captured: Captured) -> bool:
    """Whether a function without T.Kernel computes, rather than being a factory of kernels."""
    tree = prepare(captured.function.__code__).source.tree
    if any(isinstance(node, ast.FunctionDef) for node in ast.walk(tree) if node is not tree):
        return False
    environment = {**captured.function.__globals__, **captured.values}
    calls = [
        node.func
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and not _is_builtin(node.func, environment)
    ]
    parameters = inspect.signature(captured.function).parameters
    for called in calls:
        match called:
            case ast.Attribute(value=ast.Name(id=name), attr=method) if (
                name in parameters and method in METHODS
            ):
                return True
            case ast.Attribute(value=ast.Name(id=name), attr=operator):
                if is_language(environment.get(name)):
                    found = TABLE.get(operator)
                    if found is not None and (found.whole or found.kind == "expression"):
                        return True
            case ast.Name(id=name):
                if type(environment.get(name)).__name__ == "OperandKernel":
                    return True
    computing = (ast.BinOp, ast.UnaryOp, ast.Call)
    return not calls and any(isinstance(node, computing) for node in ast.walk(tree))


def _is_builtin(called: ast.expr, environment: Mapping[str, Any]) -> bool:
    """Whether a call is of a function of Python's own, such as `range`."""
    if not isinstance(called, ast.Name) or called.id in environment:
        return False
    return hasattr(builtins, called.id)


def values_of(consts: dict[str, Source], tensors: dict[str, Any]) -> dict[str, int]:
    """The sizes, from the tensors' shapes and strides."""
    return {name: source.read(tensors[source.parameter]) for name, source in consts.items()}


def refuse_no_tensors(given: dict[str, Any], declarations: Declarations) -> None:
    """What is no tensor, or has the wrong rank, cannot tell its sizes."""
    for source in declarations.consts.values():
        name = source.parameter
        if name not in given:
            continue
        value = given[name]
        shape = getattr(value, "shape", None)
        if shape is None:
            kind = "None" if value is None else type(value).__name__
            raise ArgumentError(Diagnostic("T2T410", f"`{name}` must be a tensor, but is {kind}"))
        rank = len(declarations.tensors[name].shape)
        if len(shape) != rank:
            message = f"`{name}` must have {rank} dimensions, but has {len(shape)}"
            raise ArgumentError(Diagnostic("T2T410", message))


def mentioned_consts(captured: Captured) -> tuple[str, ...]:
    """The sizes that the function's T.const calls name, in extents of tensors or not."""
    tree = prepare(captured.function.__code__).source.tree
    return tuple(
        name
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith(".const")
        for node in call.args
        for name in str(getattr(node, "value", "")).replace(",", " ").split()
    )


def _count(captured: Captured) -> int:
    code = captured.function.__code__
    return code.co_argcount + code.co_kwonlyargcount


def _sliced(body: list[ast.stmt], parameters: set[str]) -> list[ast.stmt]:
    """The declarations and, before each, the statements that assign what it reads."""
    kept: list[ast.stmt] = []
    needed: set[str] = set()
    for statement in reversed(body):
        if isinstance(statement, ast.AnnAssign) and statement.value is None:
            target = statement.target
            if isinstance(target, ast.Name) and target.id in parameters:
                call = ast.Call(
                    ast.Name(_DECLARE, ast.Load()),
                    [ast.Constant(target.id), statement.annotation],
                    [],
                )
                kept.append(ast.copy_location(ast.Expr(call), statement))
                needed |= set(names_in(statement.annotation))
            continue
        is_function = isinstance(statement, ast.FunctionDef) and statement.name in needed
        if is_function or needed & set(assigned_names([statement])):
            if not isinstance(statement, ast.With):
                kept.append(statement)
                needed |= {n.id for n in ast.walk(statement) if isinstance(n, ast.Name)}
    return kept[::-1]
