"""Kernels of Gluon on NumPy arrays: every program of the grid, one after the other."""

import ast
import itertools
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tile2triton import CompiledKernel
from tile2triton.emit.device_functions import device_functions
from tile2triton.simulation import prepared, simulate
from tile2triton.simulation.language import Descriptor, Pointer


def run(kernel: CompiledKernel, *inputs: Tensor, is_eager: bool = True) -> Any:
    """The output of a kernel with one launch, or all its outputs, which are poisoned first."""
    tree, facts = kernel.lowered_for(kernel.target)
    (launch,) = facts.launches
    assert launch.language == "gluon"
    numbers: dict[str, Any] = dict(facts.constants)

    def value(one: ast.expr) -> int:
        text = ast.unparse(one).replace("triton.cdiv", "cdiv")
        return int(eval(text, {"cdiv": lambda a, b: -(-a // b)}, numbers))

    names = [key for key, tensor in facts.tensors.items() if tensor.role == "input"]
    arrays = {
        key: (one.float() if one.is_floating_point() else one).numpy()
        for key, one in zip(names, inputs, strict=True)
    }
    outputs = [tensor for tensor in facts.tensors.values() if tensor.role == "output"]
    for made in outputs:
        arrays[made.name] = np.full([value(one) for one in made.shape], np.nan, np.float32)
    described = {
        one.name: Descriptor(
            arrays[one.tensor].transpose(one.order), tuple(value(extent) for extent in one.block)
        )
        for one in launch.descriptors
    }
    grid = [value(extent) for extent in launch.grid]
    grid += [1] * (3 - len(grid))
    statements = [*device_functions(tree.body), *tree.body]
    code = prepared([one for one in statements if isinstance(one, ast.FunctionDef)])
    # Rows of elements, which pointers of the kernel see as they lie.
    given = {
        one: described.get(one) or Pointer(arrays[one].reshape(-1)) for one in launch.arguments
    }
    given |= {one: numbers[one] for one in launch.constants}
    for program in itertools.product(*map(range, grid)):
        simulate(code, launch.kernel, given, program, grid, is_eager)
    results = tuple(torch.from_numpy(arrays[made.name]) for made in outputs)
    return results[0] if len(results) == 1 else results
