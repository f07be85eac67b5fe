"""What a call of `T.<operator>` does: record a statement, build a tree, or fold numbers."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from typing import Any

from rewrites.dtypes import is_float
from tile2triton.diagnostics import ArgumentError, TileError
from tile2triton.frontend.allocations import allocate_barriers, allocate_tile, allocate_variable
from tile2triton.frontend.builder import active, require
from tile2triton.frontend.carried import Carried, carried_call
from tile2triton.frontend.dtypes import dtype_name
from tile2triton.frontend.dynamic import Dynamic, promoted_type
from tile2triton.frontend.failures import failure
from tile2triton.frontend.hint_calls import note_hint
from tile2triton.frontend.loops import KernelFrame, Loop
from tile2triton.frontend.made_tiles import made_by, operands
from tile2triton.frontend.named_numbers import with_tree
from tile2triton.frontend.naming import Naming
from tile2triton.frontend.native import truth
from tile2triton.frontend.pointers import allocate_tensor_at
from tile2triton.frontend.positions import here
from tile2triton.frontend.roles import RoleFrame
from tile2triton.frontend.spans import argument_positions
from tile2triton.frontend.statics import is_named, note_value, plain
from tile2triton.frontend.tile_forms import of_tiles
from tile2triton.frontend.tile_values import is_tile, pointwise
from tile2triton.frontend.trees import operand_tree, option_tree, placed_at, tree_of
from tile2triton.frontend.values import Buffer, Element, Pending
from tile2triton.frontend.views import allocate_view
from tile2triton.frontend.whole_operands import (
    WholeOperand,
    call_store,
    call_whole,
    completed,
    is_of_extents,
)
from tile2triton.frontend.whole_stages import PipelinedFrame
from tile2triton.frontend.whole_stores import STORES, added_in_loop, stored
from tile2triton.ops.base import Operator

# The operator table: `tile2triton.language` fills it from `tile2triton.ops`.
TABLE: dict[str, Operator] = {}


def call(name: str, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
    """Call the operator that has this surface name."""
    operator = TABLE[name]
    if any(isinstance(one, Carried) for one in (*arguments, *keywords.values())):
        return carried_call(name, (*arguments, *keywords.values()))
    if _takes_whole(operator, (*arguments, *keywords.values())):
        return _whole(operator, name, arguments, keywords)
    made = made_by(operator, name, arguments, keywords)
    if made is not None:
        return made
    if operator.kind in ("statement", "hint", "protocol"):
        if active() is None:
            # Arguments that no call can have are the first mistake.
            _bind(operator, name, arguments, keywords)
        builder = require(f"T.{name}")
        try:
            given = _bind(operator, name, arguments, keywords)
            # The order of the blocks is the kernel's, so T.use_swizzle stays where it stands.
            if operator.kind == "hint" and operator.name != "use_swizzle":
                return note_hint(operator, given, _tree)
            return _statement(operator, operands(operator, given))
        except TileError as error:
            # The kernel's later statements do not depend on this one having been recorded.
            builder.problems.extend(error.diagnostics)
            return None
    if operator.kind == "loop" and not arguments and _builds_operands():
        return PipelinedFrame(keywords)
    if operator.kind == "whole":
        return of_tiles(name, _bind(operator, name, arguments, keywords))
    given = _bind(operator, name, arguments, keywords)
    if operator.kind == "loop":
        return Loop(operator.name, given)
    if operator.kind == "kernel":
        return KernelFrame(given)
    if operator.kind == "scope":
        return RoleFrame(require(f"T.{name}"), _tree(operator, given))
    if operator.kind == "allocation":
        builder = require(f"T.{name}")
        if operator.name == "alloc_var":
            return allocate_variable(builder, given)
        if operator.name == "make_tensor":
            return allocate_tensor_at(given)
        if operator.name in ("reshape", "view"):
            return allocate_view(operator.name, given)
        if operator.name == "alloc_barrier":
            return allocate_barriers(builder, given)
        return allocate_tile(builder, operator.name, given)
    return _expression(operator, given)


def _takes_whole(operator: Operator, values: tuple[Any, ...]) -> bool:
    """Whether a call is of whole operands: it has some, or makes one."""
    if any(isinstance(one, WholeOperand) for one in values):
        return True
    # What Python computes of numbers stays a number.
    return operator.whole is not None and operator.fold is None and _builds_operands()


def _builds_operands() -> bool:
    """Whether a program on whole operands is being traced."""
    builder = active()
    return builder is not None and builder.takes_operands


def _whole(
    operator: Operator, name: str, arguments: tuple[Any, ...], keywords: Mapping[str, Any]
) -> Any:
    """A call on whole operands, in the operator's form for these."""
    if operator.whole is None and (operator.kind != "expression" or operator.takes_regions):
        raise failure(
            "T2T804",
            f"T.{name} has no form for whole operands",
            hint="write a kernel with T.Kernel, whose tiles it takes",
        )
    signature = operator.signature if operator.whole is None else operator.whole.signature
    try:
        signature.bind(*arguments, **keywords)
    except TypeError as error:
        raise failure(
            "T2T160", f"T.{name}: {error}", hint=f"its signature is T.{name}{bare(signature)}"
        ) from None
    arguments, keywords = _with_dtype(signature, arguments, keywords)
    if operator.name in STORES:
        arguments = (arguments[0], added_in_loop(operator.name, *arguments))
    if operator.whole is not None and operator.whole.complete is not None:
        keywords = completed(operator.whole.complete, arguments, dict(keywords))
    tree = ast.Call(
        ast.Attribute(ast.Name("T", ast.Load()), operator.name, ast.Load()),
        [operand_tree(one) for one in arguments],
        [ast.keyword(key, _keyword_tree(one)) for key, one in keywords.items()],
    )
    if operator.name in STORES:
        return stored(operator.name, arguments[0], call_store(operator, tree, *arguments))
    return call_whole(operator, tree, arguments, dict(keywords))


def _with_dtype(
    signature: inspect.Signature, arguments: tuple[Any, ...], keywords: Mapping[str, Any]
) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
    """The arguments with an element type under its one name, whatever way it is written."""
    names = list(signature.parameters)
    own = {
        key: dtype_name(one) if key == "dtype" and one is not None else one
        for key, one in keywords.items()
    }
    given = tuple(
        dtype_name(one) if name == "dtype" and one is not None else one
        for name, one in zip(names, arguments, strict=False)
    )
    return (*given, *arguments[len(given) :]), own


def _keyword_tree(value: Any) -> ast.expr:
    """The tree of an option: of an extent, or what is computed from it, with the extent's name."""
    return operand_tree(value) if is_of_extents(value) else option_tree(value)


def cast(value: Any, dtype: Any) -> Any:
    """`T.cast`, which is also what calling an element type means."""
    return call("cast", (value, dtype), {})


def _bind(
    operator: Operator, name: str, arguments: tuple[Any, ...], keywords: Mapping[str, Any]
) -> dict[str, Any]:
    """The given arguments by parameter, without the defaults."""
    try:
        given = dict(operator.signature.bind(*arguments, **keywords).arguments)
    except TypeError as error:
        hint = f"its signature is T.{name}{_shown(operator)}"
        raise ArgumentError(
            *failure("T2T160", f"T.{name}: {error}", hint=hint).diagnostics
        ) from None
    mistake = operator.mistake(given)
    if mistake is not None:
        code, message, remedy = mistake
        raise failure(code, message, hint=remedy)
    return operator.complete(given)


def _shown(operator: Operator) -> str:
    return str(bare(operator.signature))


def bare(signature: inspect.Signature) -> inspect.Signature:
    """The parameters and their defaults alone."""
    alone = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    return signature.replace(parameters=alone, return_annotation=inspect.Signature.empty)


def _tree(operator: Operator, given: dict[str, Any]) -> ast.Call:
    """The canonical call: required arguments in order, optional ones by keyword where given."""
    reads_values = operator.kind == "expression" and not operator.takes_regions
    read = tree_of if reads_values else operand_tree
    position = here()
    places = argument_positions(position)
    arguments: list[ast.expr] = []
    options: list[ast.keyword] = []
    for at, parameter in enumerate(operator.signature.parameters.values()):
        if parameter.name not in given:
            continue
        value = given[parameter.name]
        where = places.get(parameter.name) or places.get(at)
        if parameter.name == "dtype":
            value = dtype_name(value)
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            arguments += [read(item) for item in value]
        elif parameter.default is inspect.Parameter.empty:
            arguments.append(placed_at(read(value), where))
        else:
            _set_down(operator, value)
            tree = placed_at(option_tree(value), where)
            options.append(ast.keyword(parameter.name, tree))
    function = ast.Attribute(ast.Name("T", ast.Load()), operator.name, ast.Load())
    call = ast.Call(function, arguments, options)
    position.put(call)
    return call


def _set_down(operator: Operator, value: Any) -> None:
    """Note the value of a named number that is folded into an option."""
    builder = active()
    if builder is not None and is_named(value):
        if operator.kind != "hint":
            note_value(value)
        if isinstance(value.tree, ast.Name):
            builder.facts.settings.setdefault(value.tree.id, repr(plain(value)))


def _statement(operator: Operator, given: dict[str, Any]) -> Any:
    builder = require(f"T.{operator.name}")
    tree = _tree(operator, given)
    if not given.get("return_prev"):
        builder.record(ast.Expr(tree))
        return None
    # The value before is bound at once; the user's assignment, if there is one, names it.
    statement = ast.Assign([ast.Name("", ast.Store())], tree)
    statement.type_comment = None
    settled = builder.record(statement)
    assert isinstance(settled, ast.Assign)
    target = settled.targets[0]
    assert isinstance(target, ast.Name)
    first = next(iter(given.values()))
    dtype = str(first.dtype) if isinstance(first, (Buffer, Element)) else None
    return Pending(Naming(target, builder.bind, "previous"), dtype)


def _expression(operator: Operator, given: dict[str, Any]) -> Any:
    if operator.takes_regions:
        given = operands(operator, given)
    elif any(is_tile(one) for one in given.values()):
        return _of_elements(operator, given)
    values = _flattened(operator, given)
    if operator.name == "if_then_else" and isinstance(values[0], (bool, int)):
        return values[1] if truth(values[0]) else values[2]
    if operator.fold is not None and all(isinstance(value, (int, float)) for value in values):
        return _folded(operator, given, values)
    return Dynamic(_tree(operator, given), _result_type(operator, given, values))


def _result_type(operator: Operator, given: dict[str, Any], values: list[Any]) -> str | None:
    """The type of an expression where those of its operands are known."""
    if "dtype" in given or operator.gives == "bool":
        return dtype_name(given.get("dtype", "bool"))
    if operator.takes_regions or not values:
        return None
    result = promoted_type(values[1:] if operator.name == "if_then_else" else values)
    if operator.gives == "float" and result is not None and not is_float(result):
        return "float32"
    return result


def _of_elements(operator: Operator, given: dict[str, Any]) -> Any:
    """What an expression is of tiles, element by element."""
    places = [key for key, one in given.items() if is_tile(one) or isinstance(one, Dynamic)]

    def apply(*elements: Any) -> Any:
        return _expression(operator, {**given, **dict(zip(places, elements, strict=True))})

    value = given.get("value")
    is_copy = operator.name == "cast" and len(given) == 2 and isinstance(value, Buffer)
    return pointwise(apply, tuple(given[key] for key in places), value if is_copy else None)


def _folded(operator: Operator, given: dict[str, Any], values: list[Any]) -> Any:
    """The number that Python computes, which remembers the call if it is of named numbers."""
    assert operator.fold is not None
    try:
        value = operator.fold(*[plain(value) for value in values])
    except (ArithmeticError, ValueError) as error:
        raise failure("T2T163", f"T.{operator.name}: {error}") from None
    if any(is_named(item) for item in values):
        return with_tree(value, _tree(operator, given))
    return value


def _flattened(operator: Operator, given: dict[str, Any]) -> list[Any]:
    values: list[Any] = []
    for parameter in operator.signature.parameters.values():
        if parameter.name in given:
            value = given[parameter.name]
            is_many = parameter.kind is inspect.Parameter.VAR_POSITIONAL
            values += list(value) if is_many else [value]
    return values
