"""T.reshape and T.view: other names for the memory of tiles and tensors."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, cast

from rewrites.dtypes import bits
from rewrites.facts import Tensor, Tile
from tile2triton.diagnostics import from_problems
from tile2triton.frontend.allocations import recorded_call
from tile2triton.frontend.builder import Builder, require
from tile2triton.frontend.dtypes import dtype_name
from tile2triton.frontend.dynamic import Dynamic
from tile2triton.frontend.failures import failure
from tile2triton.frontend.naming import Naming
from tile2triton.frontend.positions import here
from tile2triton.frontend.trees import tree_of
from tile2triton.frontend.values import Buffer
from tile2triton.ops.static import difference
from tile2triton.ops.view import size_problems


def allocate_view(operator: str, given: dict[str, Any]) -> Buffer:
    """`v = T.view(src, shape, dtype)`: a buffer that shares the memory of `src`."""
    builder = require(f"T.{operator}")
    source = given["src"]
    if not isinstance(source, Buffer):
        raise failure(
            "T2T340",
            f"T.{operator} takes a whole tile or tensor, but `{source!r}` is none",
            hint="name the tile, and index the view",
        )
    shape = given.get("shape")
    if shape is None:
        shape = source.shape
    extents = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    wanted = given.get("dtype")
    dtype = str(source.dtype) if wanted is None else dtype_name(wanted)
    for extent in extents:
        if isinstance(extent, bool) or not isinstance(extent, (int, Dynamic)):
            raise failure("T2T154", f"`{extent!r}` is no extent of a view")
    if source.scope == "global":
        return _view_of_tensor(builder, source, extents, dtype)
    return _view_of_tile(builder, source, extents, dtype, operator)


def _view_of_tile(
    builder: Builder, source: Buffer, extents: tuple[Any, ...], dtype: str, operator: str
) -> Buffer:
    base = source.name
    trees = tuple(tree_of(extent) for extent in extents)
    arguments: list[ast.expr] = [ast.Name(base, ast.Load()), ast.Tuple(list(trees), ast.Load())]
    if operator == "view":
        arguments.append(ast.Constant(dtype))
    target, call = recorded_call(builder, operator, arguments)
    assert isinstance(call.args[1], ast.Tuple)
    kept = tuple(call.args[1].elts)
    problems = list(size_problems(call, base, dtype, kept, builder.facts))
    if problems:
        raise from_problems(problems, here().filename)
    block = builder.block
    sizes = tuple(int(extent) for extent in extents)

    def claim(wanted: str) -> str:
        name = builder.names.claim(wanted)
        builder.bound[name] = block
        storage = builder.facts.tiles[base].base or base
        builder.facts.tiles[name] = Tile(name, sizes, kept, dtype, source.scope, storage)
        return name

    return Buffer(Naming(target, claim, f"{base}_view"), extents, dtype, source.scope)


def _view_of_tensor(
    builder: Builder, source: Buffer, extents: tuple[Any, ...], dtype: str
) -> Buffer:
    declared = builder.facts.tensors[source.name]
    if declared.strides:
        raise failure(
            "T2T192",
            f"`{source.name}` has strides of its own, so that its elements need not follow each "
            "other, which those of a view do",
            hint="index the tensor, or declare it as a T.Tensor",
        )
    trees = tuple(cast(ast.expr, builder.settle(tree_of(extent))) for extent in extents)
    _same_bits(builder, declared, trees, dtype)

    def claim(wanted: str) -> str:
        name = builder.names.claim(wanted)
        base = declared.base or declared.name
        builder.facts.tensors[name] = Tensor(name, trees, dtype, "view", base)
        builder.bound[name] = builder.root
        return name

    target = ast.Name("", ast.Store())
    return Buffer(Naming(target, claim, f"{source.name}_view"), extents, dtype, "global")


def _same_bits(builder: Builder, declared: Tensor, trees: tuple[ast.expr, ...], dtype: str) -> None:
    """The sizes of tensors may be known at run time only: then their products must be alike."""
    facts = builder.facts
    unknown = {
        node.id
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id not in {*facts.constants, *facts.scalars, "T"}
    }
    ours, theirs = _bits(trees, dtype), _bits(declared.shape, declared.dtype)
    if not unknown and difference(ours, theirs, facts) == 0:
        return
    shown = ", ".join(ast.unparse(tree) for tree in trees)
    found = ", ".join(ast.unparse(tree) for tree in declared.shape)
    raise failure(
        "T2T341",
        f"a view has as many bits as what it is a view of, but this one of `{declared.name}` "
        + ("is not known to have" if difference(ours, theirs, facts) is None else "has not"),
        found=(f"{declared.name}: ({found}) {declared.dtype}", f"view: ({shown}) {dtype}"),
        hint="write the extents of the view with those of the tensor, as products",
    )


def _bits(shape: Sequence[ast.expr], dtype: str) -> ast.expr:
    product: ast.expr = ast.Constant(bits(dtype))
    for extent in shape:
        product = ast.BinOp(product, ast.Mult(), extent)
    return product
