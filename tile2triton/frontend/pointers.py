"""Raw pointers: the type T.ptr, and tensors at addresses that a kernel computes."""

from __future__ import annotations

import ast
from typing import Any, cast

from rewrites.facts import Tensor
from rewrites.quote import copy_tree
from tile2triton.frontend.allocations import recorded_call
from tile2triton.frontend.builder import Builder, require
from tile2triton.frontend.declarations import extents_of
from tile2triton.frontend.dtypes import dtype_name
from tile2triton.frontend.dynamic import Dynamic, dtype_of
from tile2triton.frontend.failures import failure
from tile2triton.frontend.naming import Naming
from tile2triton.frontend.trees import tree_of
from tile2triton.frontend.values import Buffer, Storage
from tile2triton.frontend.views import allocate_view


def allocate_tensor_at(given: dict[str, Any]) -> Buffer:
    """`A = T.make_tensor(ptr, shape, dtype)`: memory that starts at an address."""
    builder = require("T.make_tensor")
    pointer, shape = given["ptr"], extents_of(given["shape"])
    dtype = dtype_name(given.get("dtype", "float32"))
    strides = given.get("strides")
    steps = None if strides is None else extents_of(strides)
    if steps is not None and len(steps) != len(shape):
        raise failure(
            "T2T191",
            "a tensor has one stride for each dimension",
            found=(f"shape: {shape!r}", f"strides: {steps!r}"),
        )
    if isinstance(pointer, (Buffer, Storage)) and steps is None:
        source = pointer if isinstance(pointer, Buffer) else pointer.buffer
        return allocate_view("view", {"src": source, "shape": shape, "dtype": dtype})
    if not isinstance(pointer, Dynamic) or dtype_of(pointer) not in ("int64", "uint64"):
        raise failure(
            "T2T190",
            f"`{pointer!r}` is no address",
            hint="give a parameter of the type T.ptr, or an element of a T.Tensor((n,), T.ptr)",
        )
    arguments: list[ast.expr] = [
        pointer.tree,
        ast.Tuple([tree_of(extent) for extent in shape], ast.Load()),
        ast.Constant(dtype),
    ]
    if steps is not None:
        arguments.append(ast.Tuple([tree_of(step) for step in steps], ast.Load()))
    if builder.kernel is None:
        return _above_the_kernels(builder, shape, dtype, arguments)
    target, call = recorded_call(builder, "make_tensor", arguments)
    block = builder.block

    def claim(wanted: str) -> str:
        name = builder.names.claim(wanted)
        builder.facts.tensors[name] = _tensor(name, dtype, call.args)
        builder.bound[name] = block
        return name

    return Buffer(Naming(target, claim, "tensor"), shape, dtype, "global")


def _above_the_kernels(
    builder: Builder, shape: tuple[Any, ...], dtype: str, arguments: list[ast.expr]
) -> Buffer:
    """A tensor that each of the function's kernels makes at its start."""
    settled = [cast(ast.expr, builder.settle(tree)) for tree in arguments]

    def claim(wanted: str) -> str:
        name = builder.names.claim(wanted)
        builder.facts.tensors[name] = _tensor(name, dtype, settled)
        builder.bound[name] = builder.root
        builder.pointers[name] = settled
        return name

    return Buffer(Naming(ast.Name("", ast.Store()), claim, "tensor"), shape, dtype, "global")


def make_pointers(builder: Builder) -> None:
    """Record, at the start of a kernel, the tensors that were made above it."""
    for name, arguments in builder.pointers.items():
        target, _ = recorded_call(builder, "make_tensor", [copy_tree(one) for one in arguments])
        target.id = name


def _tensor(name: str, dtype: str, arguments: list[ast.expr]) -> Tensor:
    _, shape, _, *strides = arguments
    assert isinstance(shape, ast.Tuple)
    steps = strides[0].elts if strides and isinstance(strides[0], ast.Tuple) else ()
    return Tensor(name, tuple(shape.elts), dtype, "pointer", strides=tuple(steps))
