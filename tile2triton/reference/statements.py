"""Execute the statements of a tile program: loops, branches, assignments and operators."""

import ast
import contextlib
import itertools
from collections.abc import Iterator, Sequence
from typing import Any
from typing import cast as typed_as

import numpy as np

from rewrites.nodes import Blank, Comment
from tile2triton.ops.base import Operator
from tile2triton.reference.arrays import array_at
from tile2triton.reference.barriers import follow
from tile2triton.reference.errors import UnsupportedError
from tile2triton.reference.expressions import (
    binary,
    element_indices,
    evaluate,
    evaluate_exactly,
    load,
    truth,
)
from tile2triton.reference.jumps import LeftError, jump
from tile2triton.reference.memory import Memory
from tile2triton.reference.operands import apply
from tile2triton.reference.state import State
from tile2triton.reference.values import Value, cast, numpy_dtype, unset


def execute_block(statements: Sequence[ast.stmt], state: State) -> None:
    """The statements in order; safe values that they set end with the block."""
    safe_values = state.safe_values
    try:
        for statement in statements:
            with state.where_not_left() as is_anywhere:
                if is_anywhere:
                    execute(statement, state)
    finally:
        state.safe_values = safe_values


def execute(statement: ast.stmt, state: State) -> None:
    match statement:
        case Comment() | Blank() | ast.Pass():
            return
        case ast.With(items=[ast.withitem(context_expr=ast.Call() as call, optional_vars=target)]):
            _launch(call, target, statement.body, state)
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            _assign(name, value, statement, state)
        case ast.Assign(targets=[ast.Subscript() as target], value=value):
            _store(target, evaluate(value, state), state)
        case ast.AugAssign(target=ast.Subscript() as target, op=op, value=value):
            _update(target, op, value, statement, state)
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name)) as call):
            follow(statement, state)
            operator = _operator(name, call, state)
            if operator.kind != "protocol":
                apply(call, operator, state)
        case ast.For(iter=ast.Call(func=ast.Attribute(attr=name)) as call):
            if _operator(name, call, state).name == "Parallel":
                _parallel(statement, call, state)
            else:
                _serial(statement, call, _operator(name, call, state), state)
        case ast.While():
            _while(statement, state)
        case ast.If():
            _branch(statement, state)
        case ast.Break() | ast.Continue() | ast.Return():
            jump(statement, state)
        case _:
            raise UnsupportedError(
                statement, f"`{ast.unparse(statement)}` has no meaning in a tile program."
            )


def _operator(name: str, node: ast.AST, state: State) -> Operator:
    operator = state.facts.operators.get(name)
    if operator is None:
        raise UnsupportedError(node, f"There is no operator T.{name}.")
    return typed_as(Operator, operator)


def _launch(call: ast.Call, target: ast.expr | None, body: list[ast.stmt], state: State) -> None:
    """Every program of the grid in turn, x fastest, each with its own tiles."""
    operator = _operator("Kernel", call, state)
    blocks = typed_as(ast.Tuple, operator.arguments(call)["blocks"])
    extents = [int(evaluate(extent, state)) for extent in blocks.elts]
    programs = in_order(extents)
    targets = target.elts if isinstance(target, ast.Tuple) else [] if target is None else [target]
    outer = dict(state.names)
    for tensor in state.tensors.values():
        tensor.start_launch(programs)
    for number, point in enumerate(programs):
        state.names, state.program, state.point = dict(outer), number, point
        state.tiles, state.allocated = {}, {}
        state.arrived.clear()
        for name, index in zip(targets, point, strict=True):
            state.names[ast.unparse(name)] = np.int32(index)
        with contextlib.suppress(LeftError):
            execute_block(body, state)
    state.names, state.tiles = outer, {}


def in_order(extents: list[int]) -> list[tuple[int, ...]]:
    """The programs of a grid, x fastest."""
    return [point[::-1] for point in itertools.product(*map(range, extents[::-1]))]


def _assign(name: str, value: ast.expr, node: ast.AST, state: State) -> None:
    """An allocation, a store to a variable, or a let."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        operator = _operator(value.func.attr, value, state)
        if operator.name == "alloc_barrier":
            return
        if operator.kind == "allocation":
            _allocate(name, value, operator, state)
            return
    result = evaluate(value, state)
    if name not in state.facts.variables:
        state.names[name] = result
        return
    result = cast(result, state.facts.variables[name])
    if not state.is_parallel:
        state.names[name] = result
        return
    if name not in state.per_element and (state.mask is not None or np.ndim(result)):
        raise UnsupportedError(
            node,
            f"`{name}` is one scalar of the whole program, but every iteration of T.Parallel "
            "stores to it. Allocate it inside of the loop.",
        )
    mask = True if state.mask is None else state.mask
    state.names[name] = np.where(mask, result, state.names[name])


def _allocate(name: str, call: ast.Call, operator: Operator, state: State) -> None:
    if operator.name == "alloc_var":
        init = evaluate_exactly(operator.arguments(call)["init"], state)
        state.names[name] = cast(init, state.facts.variables[name])
        if state.is_parallel:
            state.per_element.add(name)
        return
    if operator.name == "make_tensor":
        _point(name, call, operator, state)
        return
    if operator.name in ("reshape", "view"):
        tile = state.facts.tiles[name]
        base = state.tiles[ast.unparse(call.args[0])]
        state.tiles[name] = base.viewed(name, tile.dtype, tile.shape)
        return
    # The allocation in a loop is the same storage in every iteration.
    if id(call) not in state.allocated:
        tile = state.facts.tiles[name]
        array = np.full(tile.shape, unset(tile.dtype), numpy_dtype(tile.dtype))
        state.allocated[id(call)] = Memory(name, tile.dtype, array, is_tensor=False)
    state.tiles[name] = state.allocated[id(call)]


def _point(name: str, call: ast.Call, operator: Operator, state: State) -> None:
    """The memory at an address, and the views of it."""
    tensor = state.facts.tensors[name]
    start = int(evaluate(operator.arguments(call)["ptr"], state))
    shape, strides = (
        tuple(int(evaluate(tree, state)) for tree in trees)
        for trees in (tensor.shape, tensor.strides)
    )
    array = array_at(start, shape, strides, tensor.dtype)
    memory = Memory(name, tensor.dtype, array, is_tensor=True)
    state.tensors[name] = memory
    for view in state.facts.tensors.values():
        if view.base == name:
            extents = tuple(int(evaluate(extent, state)) for extent in view.shape)
            state.tensors[view.name] = memory.viewed(view.name, view.dtype, extents)


def _store(target: ast.Subscript, value: Value, state: State) -> None:
    memory = state.memory(ast.unparse(target.value), target)
    indices, fixed = element_indices(target, state)
    memory.store(indices, fixed, state.mask, value, target, state.program)


def _update(
    target: ast.Subscript, op: ast.operator, value: ast.expr, node: ast.AST, state: State
) -> None:
    """`t[i] += e`: iterations that meet in one element add up."""
    added = evaluate(value, state)
    memory = state.memory(ast.unparse(target.value), target)
    indices, fixed = element_indices(target, state)
    if state.is_parallel and _meet(indices, memory, state):
        if not isinstance(op, (ast.Add, ast.Sub)):
            raise UnsupportedError(
                node,
                f"Several iterations of T.Parallel update one element in `{ast.unparse(node)}`. "
                "Only `+=` and `-=` add them up.",
            )
        added = added if isinstance(op, ast.Add) else -added
        memory.update(indices, fixed, state.mask, added, target, state.space, program=state.program)
        return
    result = binary(op, load(target, state), added, node)
    memory.store(indices, fixed, state.mask, result, target, state.program)


def _meet(indices: list[Value], memory: Memory, state: State) -> bool:
    """Whether two iterations that run have the same indices."""
    mask = np.broadcast_to(np.True_ if state.mask is None else state.mask, state.space)
    clipped = [
        np.broadcast_to(np.clip(index, -1, extent), state.space)[mask].astype(np.int64)
        for index, extent in zip(indices, memory.array.shape, strict=True)
    ]
    numbers = np.zeros(clipped[0].shape, np.int64)
    inside = np.ones(clipped[0].shape, bool)
    for index, extent in zip(clipped, memory.array.shape, strict=True):
        numbers = numbers * extent + index
        inside &= (index >= 0) & (index < extent)
    numbers = numbers[inside]
    return bool(np.unique(numbers).size != numbers.size)


def _parallel(loop: ast.For, call: ast.Call, state: State) -> None:
    """All iterations at once: each loop variable is an array along an axis of its own.

    The axes stand before those of an enclosing T.Parallel, so that its arrays still broadcast.
    """
    trees = typed_as(ast.Tuple, _operator("Parallel", call, state).arguments(call)["extents"])
    extents = tuple(int(evaluate(extent, state)) for extent in trees.elts)
    targets = loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
    outer, known = state.space, set(state.per_element)
    for number, (name, extent) in enumerate(zip(targets, extents, strict=True)):
        rank = len(extents) - number - 1 + len(outer)
        state.names[ast.unparse(name)] = np.arange(extent, dtype=np.int32).reshape(
            extent, *(1,) * rank
        )
    state.space = extents + outer
    try:
        with state.loop(is_parallel=True) as left:
            left.turn(lambda: execute_block(loop.body, state), np.True_)
    finally:
        state.space, state.per_element = outer, known


def _serial(loop: ast.For, call: ast.Call, operator: Operator, state: State) -> None:
    """One iteration after the other; in T.Parallel the bounds may differ between iterations."""
    trees = operator.arguments(call)
    start, stop = evaluate(trees["start"], state), trees["stop"]
    if isinstance(stop, ast.Constant) and stop.value is None:
        start, end = np.int32(0), start
    else:
        end = evaluate(stop, state)
    step_tree = trees.get("step")
    step = state.statics.get(id(step_tree), 1)
    name = ast.unparse(loop.target)
    turns: Iterator[tuple[Value, Value]]
    if np.ndim(start) == 0 and np.ndim(end) == 0:
        turns = ((np.int32(i), np.True_) for i in range(int(start), int(end), int(step)))
    else:
        turns = _ragged(start, end, int(step))
    with state.loop() as left:
        for index, condition in turns:
            state.names[name] = index
            if not left.turn(lambda: execute_block(loop.body, state), condition):
                return


def _ragged(start: Value, end: Value, step: int) -> Iterator[tuple[Value, Value]]:
    index = np.asarray(start)
    while True:
        condition = index < end if step > 0 else index > end
        if not condition.any():
            return
        yield index, condition
        index = (index + np.int32(step)).astype(np.int32)


def _while(loop: ast.While, state: State) -> None:
    with state.loop() as left:
        condition = truth(evaluate(loop.test, state))
        while bool(
            np.any(condition if state.mask is None else np.logical_and(condition, state.mask))
        ):
            if not left.turn(lambda: execute_block(loop.body, state), condition):
                return
            if left.broken is not None:
                condition = np.logical_and(condition, np.logical_not(left.broken))
            # What an iteration that is through would read may be anywhere.
            with state.where(condition) if np.ndim(condition) else contextlib.nullcontext():
                condition = np.logical_and(condition, truth(evaluate(loop.test, state)))


def _branch(branch: ast.If, state: State) -> None:
    condition: Any = truth(evaluate(branch.test, state))
    if np.ndim(condition) == 0:
        execute_block(branch.body if bool(condition) else branch.orelse, state)
        return
    with state.where(condition):
        execute_block(branch.body, state)
    with state.where(np.logical_not(condition)):
        execute_block(branch.orelse, state)
