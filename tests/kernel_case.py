"""One call of a kernel from `tests/kernels`, and how its result is judged."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tile2triton import CompiledKernel, transpile

# Relative to the fp64 oracle on the same inputs: the error's Frobenius norm, and the largest error
# over the largest value. "tf32" is what products of fp32 have on tensor cores; integers are exact.
TOLERANCES = {
    "float64": (1e-12, 1e-11),
    "float32": (2e-6, 1e-5),
    "tf32": (1e-3, 2e-3),
    "float16": (8e-4, 2e-3),
    "bfloat16": (6e-3, 1.5e-2),
    "int32": (0.0, 0.0),
}


@dataclass(frozen=True)
class Case:
    """`sizes` are the leading arguments of a factory; None for a kernel that takes tensors."""

    name: str
    kernel: Callable[..., Any]
    oracle: Callable[..., Tensor]
    shapes: tuple[tuple[int, ...], ...]
    dtype: str = "float16"
    sizes: tuple[int, ...] | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    # Where an input has not the kernel's dtype: its position -> dtype.
    dtypes: dict[int, str] = field(default_factory=dict)
    tolerance: str = ""

    def __str__(self) -> str:
        return self.name

    def inputs(self, device: str = "cpu") -> tuple[Tensor, ...]:
        """Random, the same for each call: small integers, any bytes, or normal floats."""
        generator = torch.Generator().manual_seed(len(self.name))
        result = []
        for index, shape in enumerate(self.shapes):
            dtype = getattr(torch, self.dtypes.get(index, self.dtype))
            if dtype.is_floating_point:
                values = torch.randn(shape, generator=generator)
            elif dtype == torch.uint8:
                values = torch.randint(256, shape, generator=generator)
            else:
                values = torch.randint(-8, 8, shape, generator=generator)
            result.append(values.to(dtype).to(device))
        return tuple(result)

    def options(self) -> dict[str, Any]:
        return {"dtype": self.dtype, **self.parameters}

    def run(self, device: str) -> Tensor:
        inputs = self.inputs(device)
        if self.sizes is None:
            output = self.kernel(*inputs, **self.options())
        else:
            output = self.kernel(*self.sizes, **self.options())(*inputs)
        # A kernel without outputs adds to its last argument.
        return inputs[-1] if output is None else output

    def transpiled(self, target: str | None = None) -> CompiledKernel:
        arguments = self.inputs() if self.sizes is None else self.sizes
        return transpile(self.kernel, *arguments, target=target, **self.options())

    def run_reference(self) -> Tensor:
        inputs = self.inputs()
        output = self.transpiled().reference(*inputs)
        return inputs[-1] if output is None else torch.from_numpy(output.astype(np.float64))

    def check(self, output: Tensor) -> None:
        """Compare with the oracle; a NaN, also one left from poisoned memory, never passes."""
        found, expected = output.cpu().double(), self.oracle(*self.inputs())
        assert found.shape == expected.shape
        difference = found - expected
        norm, largest = TOLERANCES[self.tolerance or self.dtype]
        relative = (difference.norm() / expected.norm()).item()
        assert relative <= norm, f"relative error {relative:.2e} > {norm:.0e}"
        worst = (difference.abs().max() / expected.abs().max()).item()
        assert worst <= largest, f"largest error {worst:.2e} > {largest:.0e} of the largest value"
