"""The tree of an emitted launcher, in which launches and the first check are others.

before:
    def scale(A, B):
        try:
            fits = A.shape == B.shape == (N,) and A.dtype == B.dtype == torch.float32
        except (AttributeError, IndexError, TypeError, ValueError):
            fits = False
        if not fits:
            refuse(A, B)
        scale_kernel[grid](A, B, N=N, num_warps=4)

after:
    def scale(A, B):
        try:
            try:
                fits = A.shape == B.shape == (N,) and A.dtype == B.dtype == torch.float32
            except (AttributeError, IndexError, TypeError, ValueError):
                fits = False
            if not (fits and A.is_cuda):
                return _direct_otherwise(A, B)
            _direct_launch_0(grid, A, B)
        except _direct_errors as _direct_error:
            _direct_explain(_direct_error, A, B)
            raise
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rewrites.quote import expr, name, place, stmts
from rewrites.tree import names_in, walk

from .surroundings import PREFIX

# What values are made of that are the same in each call, where their names are the module's.
_FIXED = (ast.Constant, ast.List, ast.Tuple, ast.UnaryOp, ast.BinOp, ast.Name)


@dataclass(frozen=True)
class Argument:
    """What is known of an argument of a launch, whatever its value is."""

    # The launcher has compared the type before.
    is_typed: bool = False
    # The shape, strides and block of a TMA descriptor, of which the argument is the tensor alone.
    descriptor: tuple[list[int], list[int], list[int]] | None = None


@dataclass(frozen=True)
class Site:
    """`kernel[grid](a, b, block=block, num_warps=4)`, a launch that is written in a launcher."""

    kernel: str
    arguments: tuple[Argument, ...]
    named: dict[str, Any]


@dataclass
class DirectTree:
    """The function with its launches, by the names that stand for them."""

    function: ast.FunctionDef
    sites: dict[str, Site] = field(default_factory=dict)
    # The shapes of what functions of these names allocate, of a type and on a device.
    allocated: dict[str, tuple[int, ...]] = field(default_factory=dict)
    # Whether each launch is one of these, and each descriptor has what every one has, and no more.
    is_whole: bool = True


def direct_tree(
    text: str, function: str, module: Mapping[str, Any], shapes_are_known: bool
) -> DirectTree | None:
    """The launcher of an emitted module as above; None for another function.

    Where the shapes and types are known to be those of a call before, they are not compared.
    """
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            return _direct(node, module, shapes_are_known)
    return None


def _direct(
    function: ast.FunctionDef, module: Mapping[str, Any], shapes_are_known: bool
) -> DirectTree | None:
    match function.body:
        case [
            ast.Expr() as docstring,
            ast.Try(body=[*_, ast.Assign(targets=[ast.Name(id=fits)]) as fitting]) as check,
            ast.If(test=ast.UnaryOp(op=ast.Not(), operand=ast.Name(id=tested))) as refusal,
            *rest,
        ] if tested == fits:
            pass
        case _:
            return None
    condition = fitting.value
    parameters = [argument.arg for argument in function.args.args]
    tensors = [one for one in parameters if one in _compared(condition)]
    if not tensors:
        return None
    made = DirectTree(function)
    if shapes_are_known:
        kept: list[ast.expr] = [ast.Constant(True)]
        kept += [one for one in _conditions(condition) if not _is_of_shapes(one, {*parameters})]
        fitting.value = place(ast.BoolOp(ast.And(), kept), condition)
    launches = _Launches(made, module, _typed(condition, rest))
    rest = [launches.visit(statement) for statement in rest]
    given: list[ast.expr] = [name(one) for one in parameters]
    (instead,) = stmts(
        "if not (fits and first.is_cuda):\n    return otherwise",
        fits=fits,
        first=name(tensors[0]),
        otherwise=ast.Call(name(f"{PREFIX}otherwise"), given, []),
    )
    (whole,) = stmts(
        f"try:\n    pass\nexcept {PREFIX}errors as {PREFIX}error:\n    explain\n    raise",
        explain=ast.Call(name(f"{PREFIX}explain"), [name(f"{PREFIX}error"), *given], []),
    )
    assert isinstance(whole, ast.Try), "what was quoted is no try"
    whole.body = [check, place(instead, refusal), *(place(one, one) for one in rest)]
    place(whole, check)
    function.body = [docstring, whole]
    return made


class _Launches(ast.NodeTransformer):
    """Puts calls of functions in the place of launches, and remembers what they stand for."""

    def __init__(self, made: DirectTree, module: Mapping[str, Any], typed: set[str]) -> None:
        self.made = made
        self.module = module
        self.known = {one: Argument(is_typed=True) for one in typed}
        own = {argument.arg for argument in made.function.args.args}
        own |= {
            node.id
            for node in walk(made.function)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        self.fixed = {*module} - own

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        match node:
            case ast.Assign(
                targets=[ast.Name(id=made)],
                value=ast.Call(
                    func=ast.Name(id="TensorDescriptor"),
                    args=[ast.Name() as tensor, shape, strides, block],
                    keywords=[],
                ),
            ) if all(map(self._is_fixed, (shape, strides, block))):
                self.made.is_whole &= made not in self.known
                described = (self._value(shape), self._value(strides), self._value(block))
                self.known[made] = Argument(self._known(tensor).is_typed, described)
                node.value = tensor
                return node
        self.generic_visit(node)
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Subscript(value=ast.Name(id=kernel), slice=grid)):
                if not all(one.arg and self._is_fixed(one.value) for one in node.keywords):
                    self.made.is_whole = False
                    return node
                stand_in = f"{PREFIX}launch_{len(self.made.sites)}"
                named = {one.arg: self._value(one.value) for one in node.keywords if one.arg}
                known = tuple(map(self._known, node.args))
                self.made.sites[stand_in] = Site(kernel, known, named)
                return place(ast.Call(name(stand_in), [grid, *node.args], []), node)
            case ast.Call(
                func=ast.Attribute(value=ast.Name() as like, attr="new_empty"),
                args=[shape],
                keywords=[ast.keyword(arg="dtype", value=dtype)],
            ) if self._is_fixed(shape):
                allocate = f"{PREFIX}empty_{len(self.made.allocated)}"
                self.made.allocated[allocate] = self._value(shape)
                made = expr(
                    "allocate(dtype=kind, device=like.device)",
                    allocate=name(allocate),
                    kind=dtype,
                    like=like,
                )
                return place(made, node)
            case ast.Call(func=ast.Name(id="TensorDescriptor")):
                self.made.is_whole &= len(node.args) == 4 and not node.keywords
        return node

    def _known(self, argument: ast.expr) -> Argument:
        if isinstance(argument, ast.Name):
            return self.known.get(argument.id, Argument())
        return Argument()

    def _is_fixed(self, value: ast.expr) -> bool:
        """Whether a value is made of literals and variables of the module alone."""
        return (
            all(isinstance(node, _FIXED) for node in walk(value)) and names_in(value) <= self.fixed
        )

    def _value(self, node: ast.expr) -> Any:
        return eval(compile(ast.Expression(node), "<constant>", "eval"), dict(self.module))


def _conditions(condition: ast.expr) -> list[ast.expr]:
    if isinstance(condition, ast.BoolOp) and isinstance(condition.op, ast.And):
        return condition.values
    return [condition]


def _is_of_shapes(condition: ast.expr, parameters: set[str]) -> bool:
    """Whether a comparison asks for shapes and types of arguments, and for nothing else of them."""
    asked = [
        node
        for node in walk(condition)
        if isinstance(node, ast.Attribute)
        and node.attr in ("shape", "dtype")
        and isinstance(node.value, ast.Name)
    ]
    mentions = [
        node for node in walk(condition) if isinstance(node, ast.Name) and node.id in parameters
    ]
    of_arguments = {id(node.value) for node in asked}
    return (
        isinstance(condition, ast.Compare)
        and bool(mentions)
        and all(id(node) in of_arguments for node in mentions)
    )


def _compared(condition: ast.expr) -> set[str]:
    """The arguments of which the condition asks for the type."""
    return {
        node.value.id
        for node in walk(condition)
        if isinstance(node, ast.Attribute)
        and node.attr == "dtype"
        and isinstance(node.value, ast.Name)
    }


def _typed(condition: ast.expr, rest: list[ast.stmt]) -> set[str]:
    """The arguments whose type is known where the condition holds, whatever follows."""
    typed = set()
    for one in _conditions(condition):
        match one:
            case ast.Compare(comparators=[*_, ast.Attribute(value=ast.Name(id="torch"))]):
                if all(isinstance(operator, ast.Eq) for operator in one.ops):
                    typed |= _compared(one)
    # A copy has the type of what it is a copy of.
    changed = {
        node.targets[0].id
        for statement in rest
        for node in walk(statement)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and ast.unparse(node.value) != f"{node.targets[0].id}.clone()"
    }
    return typed - changed
