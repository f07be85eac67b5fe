"""Put a traced kernel together: its constants, and the function over its tensors and scalars."""

from __future__ import annotations

import ast

from rewrites.facts import Facts, Program
from rewrites.quote import literal
from tile2triton.diagnostics import TileError, at_node
from tile2triton.frontend.assertions import assertions
from tile2triton.frontend.builder import Builder
from tile2triton.frontend.dims import read_dims
from tile2triton.frontend.packed import refuse_uses


def finished(
    builder: Builder, tree: ast.FunctionDef, parameters: list[str], outputs: tuple[str, ...]
) -> Program:
    """The program of a function that has been executed; `parameters` are those of the user."""
    facts = builder.facts
    builder.flush()
    facts.outputs = outputs
    facts.written_names = {
        name: wanted for name, wanted in builder.wanted.items() if name != wanted
    }
    facts.parameters = tuple(
        name
        for name in parameters
        if name in facts.scalars or (name in facts.tensors and facts.tensors[name].role == "input")
    )
    if not any(isinstance(statement, ast.With) for statement in builder.root.body):
        raise TileError(
            at_node(
                tree,
                facts.filename,
                "T2T179",
                f"`{facts.name}` has no T.Kernel",
                hint="write its body under `with T.Kernel(..., threads=128) as ...:`",
            )
        )
    refuse_uses(ast.Module(builder.root.body, []), facts)
    read_dims(builder, tree)
    _assert_decisions(builder)
    return Program(_module(builder, tree, parameters), facts)


def _assert_decisions(builder: Builder) -> None:
    """What was decided from named constants stands at the start of the first kernel."""
    kernel = next(one for one in builder.root.body if isinstance(one, ast.With))
    kernel.body[:0] = assertions(builder)
    # The header names what was folded away; a constant of the module says its value itself.
    for name in builder.facts.constants:
        builder.facts.settings.pop(name, None)


def _module(builder: Builder, tree: ast.FunctionDef, parameters: list[str]) -> ast.Module:
    """The constants, then the function over all of its tensors and scalars."""
    facts = builder.facts
    constants: list[ast.stmt] = [
        ast.Assign([ast.Name(name, ast.Store())], literal(value))
        for name, value in facts.constants.items()
    ]
    allocated = [name for name in facts.tensors if name not in parameters]
    arguments = [
        ast.arg(name, type_tree(facts, name))
        for name in (*parameters, *allocated)
        if name in facts.tensors or name in facts.scalars
    ]
    function = ast.FunctionDef(
        name=facts.name,
        args=ast.arguments([], arguments, None, [], [], None, []),
        body=builder.root.body,
        decorator_list=[],
    )
    function.type_params = []  # type: ignore[attr-defined]
    function.returns = None
    function.type_comment = None
    ast.copy_location(function, tree)
    return ast.fix_missing_locations(ast.Module([*constants, function], []))


def type_tree(facts: Facts, name: str) -> ast.expr:
    language = ast.Name("T", ast.Load())
    tensor = facts.tensors.get(name)
    if tensor is None:
        return ast.Attribute(language, facts.scalars[name], ast.Load())
    shape = ast.Tuple(list(tensor.shape), ast.Load())
    maker = ast.Attribute(language, "Tensor", ast.Load())
    arguments: list[ast.expr] = [shape, ast.Constant(tensor.dtype)]
    if tensor.base:
        arguments.append(ast.Attribute(ast.Name(tensor.base, ast.Load()), "data", ast.Load()))
    return ast.Call(maker, arguments, [])
