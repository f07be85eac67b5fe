"""Kernels of Gluon on NumPy arrays: every program of the grid, one after the other."""

import ast
import itertools
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rewrites.facts import Launch
from rewrites.gluon.amd.chips import CHIPS
from tile2triton import CompiledKernel
from tile2triton.emit.device_functions import device_functions
from tile2triton.simulation import prepared, simulate
from tile2triton.simulation.language import Descriptor, Pointer


def run(
    kernel: CompiledKernel, *inputs: Tensor, is_eager: bool = True, in_stages: bool = True
) -> Any:
    """The output of a kernel with one launch, or all its outputs, which are poisoned first."""
    _, facts = kernel.lowered_for(kernel.target)
    (one,) = facts.launches
    names = [key for key, tensor in facts.tensors.items() if tensor.role == "input"]
    given = dict(zip(names, inputs, strict=True))
    results = tuple(launched(kernel, one.kernel, given, is_eager, in_stages).values())
    return results[0] if len(results) == 1 else results


def launched(
    kernel: CompiledKernel,
    called: str,
    given: dict[str, Tensor],
    is_eager: bool = True,
    in_stages: bool = True,
) -> dict[str, Tensor]:
    """What one launch stores: the tensors it takes besides those that are `given`."""
    tree, facts = kernel.lowered_for(kernel.target)
    (launch,) = (one for one in facts.launches if one.kernel == called)
    assert launch.language == "gluon"
    taken = {one.tensor for one in launch.descriptors} | set(launch.arguments)
    arrays = {
        key: (one.float() if one.is_floating_point() else one).numpy() for key, one in given.items()
    }
    numbers = {**facts.constants}
    numbers |= {key: arrays[of].shape[axis] for key, (of, axis) in facts.dims.items()}
    made = {
        key: np.full([_value(one, numbers) for one in tensor.shape], np.nan, np.float32)
        for key, tensor in facts.tensors.items()
        if key in taken and key not in given
    }
    is_amd = facts.target in CHIPS
    _simulate(tree, numbers, launch, {**arrays, **made}, is_eager, is_amd, in_stages)
    return {key: torch.from_numpy(one) for key, one in made.items()}


def _simulate(
    tree: ast.Module,
    numbers: dict[str, Any],
    launch: Launch,
    arrays: dict[str, Any],
    is_eager: bool,
    is_amd: bool,
    in_stages: bool,
) -> None:
    described = {
        one.name: Descriptor(
            arrays[one.tensor].transpose(one.order),
            tuple(_value(extent, numbers) for extent in one.block),
        )
        for one in launch.descriptors
    }
    grid = [_value(extent, numbers) for extent in launch.grid]
    grid += [1] * (3 - len(grid))
    statements = [*device_functions(tree.body), *tree.body]
    code = prepared([one for one in statements if isinstance(one, ast.FunctionDef)])
    # Rows of elements, which pointers of the kernel see as they lie.
    given = {one: numbers[one] for one in (*launch.arguments, *launch.constants) if one in numbers}
    given |= {one: Pointer(arrays[one].reshape(-1)) for one in launch.arguments if one in arrays}
    given |= {one: described[one] for one in launch.arguments if one in described}
    for program in itertools.product(*map(range, grid)):
        simulate(
            code,
            launch.kernel,
            given,
            program,
            grid,
            is_eager,
            halves=is_amd,
            in_stages=in_stages,
        )


def _value(one: ast.expr, numbers: dict[str, Any]) -> int:
    text = ast.unparse(one).replace("triton.cdiv", "cdiv")
    return int(eval(text, {"cdiv": lambda a, b: -(-a // b)}, numbers))
