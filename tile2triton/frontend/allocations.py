"""Tiles, variables and allocated tensors, which take the name that the user assigns them to."""

from __future__ import annotations

import ast
import weakref
from typing import Any

from rewrites.facts import Tile
from tile2triton.frontend.builder import Builder
from tile2triton.frontend.dtypes import DType, dtype_name
from tile2triton.frontend.dynamic import is_scalar
from tile2triton.frontend.failures import failure
from tile2triton.frontend.naming import Naming
from tile2triton.frontend.packed import stored_as
from tile2triton.frontend.positions import here
from tile2triton.frontend.statics import plain
from tile2triton.frontend.trees import tree_of
from tile2triton.frontend.values import Buffer, Variable


def allocate_tile(builder: Builder, operator: str, arguments: dict[str, Any]) -> Buffer:
    """`x = T.alloc_shared(shape, dtype)`: a tile of static extents."""
    shape = arguments["shape"]
    shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    dtype = dtype_name(arguments["dtype"])
    for extent in shape:
        if isinstance(extent, bool) or not isinstance(extent, int) or extent < 1:
            raise failure(
                "T2T280",
                f"`{plain(extent)}` is no extent of a tile",
                hint="the extents of a tile are positive numbers that are known when the kernel "
                "is compiled; copy the part of the tensor that fits",
            )
    trees = tuple(tree_of(extent) for extent in shape)
    call = _call(operator, [ast.Tuple(list(trees), ast.Load()), ast.Constant(dtype)])
    op = str(arguments.get("op", "sum")) if operator == "alloc_reducer" else ""
    if op:
        call.keywords.append(ast.keyword("op", ast.Constant(op)))
    target = _bound_to(builder, call)
    scope = "shared" if operator == "alloc_shared" else "fragment"
    statement = builder.block.body[-1]
    assert isinstance(statement, ast.Assign)
    settled = statement.value
    assert isinstance(settled, ast.Call)
    assert isinstance(settled.args[0], ast.Tuple)
    kept = tuple(settled.args[0].elts)

    block = builder.block

    def claim(wanted: str) -> str:
        # A name is not taken over once statements stand between: its old tile may be in them.
        is_next = builder.block is block and block.body[-1] is statement
        kind = (wanted, scope, dtype, op, *map(ast.dump, kept))
        name = builder.tile_names.claim(kind, builder, is_next)
        builder.wanted[name] = wanted
        builder.tile_names.add(name, kind, made, builder.blocks)
        builder.bound[name] = block
        builder.facts.tiles[name] = Tile(name, tuple(map(int, shape)), kept, dtype, scope, op=op)
        return name

    buffer = Buffer(Naming(target, claim, "tile"), shape, dtype, scope)
    made = weakref.ref(buffer)
    return buffer


def allocate_variable(builder: Builder, arguments: dict[str, Any]) -> Variable:
    """`x = T.alloc_var(dtype, init)`: a mutable scalar."""
    dtype = dtype_name(arguments["dtype"])
    trees: list[ast.expr] = [ast.Constant(dtype)]
    if "init" in arguments:
        initial = arguments["init"]
        if not is_scalar(initial):
            raise failure("T2T156", "the first value of a variable is a scalar")
        trees.append(tree_of(initial))
    target = _bound_to(builder, _call("alloc_var", trees))
    block = builder.block

    def claim(wanted: str) -> str:
        name = builder.names.claim(wanted)
        builder.bound[name] = block
        builder.facts.variables[name] = dtype
        return name

    return Variable(Naming(target, claim, "value"), dtype)


def allocate_barriers(builder: Builder, arguments: dict[str, Any]) -> Buffer:
    """`b = T.alloc_barrier(counts)`: barriers at which so many threads arrive."""
    given = arguments["arrive_count"]
    counts = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    for count in counts:
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise failure(
                "T2T702",
                f"`{plain(count)}` is no number of threads that arrive at a barrier",
                hint="write how many threads arrive before the wait passes, such as 128",
            )
    trees: list[ast.expr] = [tree_of(count) for count in counts]
    target = _bound_to(builder, _call("alloc_barrier", [ast.Tuple(trees, ast.Load())]))
    block = builder.block

    def claim(wanted: str) -> str:
        name = builder.names.claim(wanted)
        builder.bound[name] = block
        builder.facts.barriers[name] = tuple(plain(count) for count in counts)
        return name

    return Buffer(Naming(target, claim, "barrier"), (len(counts),), "uint64", "barrier")


def global_naming(
    builder: Builder, shape: tuple[Any, ...], dtype: DType, role: str, fallback: str
) -> Buffer:
    """A tensor that the launcher allocates; it leaves no statement."""
    stored, kind, made_as = stored_as(shape, dtype)
    trees = tuple(tree_of(extent) for extent in stored)

    def claim(wanted: str) -> str:
        name = builder.names.claim(wanted)
        builder.add_tensor(name, trees, kind, role, made_as=made_as)
        if role == "output":
            builder.empties.append(name)
        return name

    return Buffer(Naming(ast.Name("", ast.Store()), claim, fallback), shape, dtype, "global")


def recorded_call(
    builder: Builder, operator: str, arguments: list[ast.expr]
) -> tuple[ast.Name, ast.Call]:
    """Record `x = T.operator(arguments)`: its target, which is named later, and the call."""
    target = _bound_to(builder, _call(operator, arguments))
    statement = builder.block.body[-1]
    assert isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call)
    return target, statement.value


def _call(operator: str, arguments: list[ast.expr]) -> ast.Call:
    function = ast.Attribute(ast.Name("T", ast.Load()), operator, ast.Load())
    call = ast.Call(function, arguments, [])
    here().put(call)
    return call


def _bound_to(builder: Builder, call: ast.Call) -> ast.Name:
    """Record the allocation under a name that is chosen later."""
    statement = ast.Assign([ast.Name("", ast.Store())], call)
    statement.type_comment = None
    settled = builder.record(statement)
    assert isinstance(settled, ast.Assign)
    target = settled.targets[0]
    assert isinstance(target, ast.Name)
    return target
