"""The reference meaning: a tile program interpreted on NumPy arrays."""

import ast
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rewrites.facts import Program, Tensor
from rewrites.tree import function_of, is_whole
from tile2triton.reference.arrays import Argument, address, scalar, to_torch
from tile2triton.reference.errors import (
    AssumptionFailedError,
    DeadlockError,
    OutOfBoundsError,
    ProgramError,
    UnsupportedError,
    WriteConflictError,
)
from tile2triton.reference.expressions import evaluate
from tile2triton.reference.memory import Memory
from tile2triton.reference.sequence import in_sequence
from tile2triton.reference.state import State, find_statics
from tile2triton.reference.statements import execute_block
from tile2triton.reference.values import numpy_dtype, unset
from tile2triton.reference.whole import run_whole

__all__ = [
    "AssumptionFailedError",
    "DeadlockError",
    "OutOfBoundsError",
    "ProgramError",
    "UnsupportedError",
    "WriteConflictError",
    "run",
    "to_torch",
]


def run(
    program: Program,
    arrays: Sequence[Any] | Mapping[str, Any],
    dims_overrides: Mapping[str, int] | None = None,
) -> tuple[np.ndarray[Any, Any], ...]:
    """Run a tile program on NumPy arrays or torch tensors, and return its outputs.

    `arrays` are the launcher's arguments, in its order or by name; tensors that the program writes
    are changed in place. `dims_overrides` gives run-time sizes that no argument has. Raises a
    `ProgramError` where the program does what a GPU would not report, and `TypeError` or
    `ValueError` for arguments that do not fit.
    """
    function = function_of(program.tree)
    if is_whole(function):
        return _run_whole(program, function, arrays)
    program = in_sequence(program)
    facts = program.facts
    given = _by_name(facts.parameters, arrays)
    state = State(facts, {}, find_statics(program.tree, facts))
    for tensor in facts.tensors.values():
        for extent in (*tensor.shape, *tensor.strides):
            state.statics.update(find_statics(extent, facts))
    for tile in facts.tiles.values():
        for extent in tile.trees:
            state.statics.update(find_statics(extent, facts))
    arguments = {
        name: Argument(name, value, facts.tensors[name].dtype)
        for name, value in given.items()
        if name in facts.tensors
    }
    for name, value in given.items():
        if name in facts.pointers:
            state.names[name] = address(name, value)
        elif name not in facts.tensors:
            state.names[name] = scalar(name, value, facts.scalars[name])

    def size(name: str, value: int) -> Any:
        return scalar(name, int(value), facts.scalars.get(name, "int32"))

    for name, (source, axis) in facts.dims.items():
        if source in arguments and axis < arguments[source].array.ndim:
            state.names[name] = size(name, arguments[source].array.shape[axis])
    for name, (source, axis) in facts.strides.items():
        state.names[name] = size(name, arguments[source].stride(axis))
    for name, equation in facts.equations.items():
        # An extent that no size gives fails the check of shapes.
        rest = int(evaluate(equation.rest, state))
        state.names[name] = size(name, (int(state.names[name]) - rest) // equation.factor)
    for name, value in (dims_overrides or {}).items():
        state.names[name] = size(name, value)
    function = function_of(program.tree)
    try:
        for tensor in facts.tensors.values():
            if facts.tensors[tensor.storage].role != "pointer":
                state.tensors[tensor.name] = _memory(tensor, arguments.get(tensor.name), state)
        execute_block(function.body, state)
    except ProgramError as fault:
        fault.locate(facts)
        raise
    for name, argument in arguments.items():
        if state.tensors[name].written:
            argument.write_back()
    return tuple(state.tensors[name].array for name in facts.outputs)


def _run_whole(
    program: Program, function: ast.FunctionDef, arrays: Sequence[Any] | Mapping[str, Any]
) -> tuple[np.ndarray[Any, Any], ...]:
    facts = program.facts
    given = _by_name(facts.parameters, arrays)
    arguments = {
        name: Argument(name, value, facts.tensors[name].dtype) for name, value in given.items()
    }
    arrays = {name: argument.array for name, argument in arguments.items()}
    stored = dict(zip(facts.stored, run_whole(function, facts, arrays), strict=True))
    for name, argument in arguments.items():
        if name in stored:
            argument.array[...] = stored[name]
            argument.write_back()
    return tuple(stored[name] for name in facts.outputs)


def _by_name(
    parameters: tuple[str, ...], arrays: Sequence[Any] | Mapping[str, Any]
) -> dict[str, Any]:
    if isinstance(arrays, Mapping):
        missing = [name for name in parameters if name not in arrays]
        unknown = [name for name in arrays if name not in parameters]
        if missing or unknown:
            raise TypeError(
                f"The kernel takes {', '.join(parameters)}; "
                f"missing: {', '.join(missing) or 'none'}, unknown: {', '.join(unknown) or 'none'}."
            )
        return dict(arrays)
    if len(arrays) != len(parameters):
        raise TypeError(
            f"The kernel takes {len(parameters)} arguments ({', '.join(parameters)}), "
            f"but {len(arrays)} were given."
        )
    return dict(zip(parameters, arrays, strict=True))


def _memory(tensor: Tensor, argument: Argument | None, state: State) -> Memory:
    """The argument's array after a check of its shape, or fresh memory that nobody wrote."""
    shape = tuple(int(evaluate(extent, state)) for extent in tensor.shape)
    if tensor.base:
        return state.tensors[tensor.base].viewed(tensor.name, tensor.dtype, shape)
    if argument is None:
        array = np.full(shape, unset(tensor.dtype), numpy_dtype(tensor.dtype))
        return Memory(tensor.name, tensor.dtype, array, is_tensor=True)
    if argument.array.shape != shape:
        declared = f"({', '.join(ast.unparse(extent) for extent in tensor.shape)})"
        raise ValueError(
            f"{tensor.name} has shape {argument.array.shape}, but {declared} = {shape} is needed."
        )
    return Memory(tensor.name, tensor.dtype, argument.array, is_tensor=True)
