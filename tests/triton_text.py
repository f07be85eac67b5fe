"""Small Triton kernels as text, run as emitted modules are."""

import textwrap
from collections.abc import Sequence

import torch

from tile2triton.runtime import load

HEADER = """
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice
from triton.tools.tensor_descriptor import TensorDescriptor
"""


def run(text: str, *args: object, name: str = "launch", **kwargs: object) -> object:
    """Call the launcher `name` of a module that is written without its imports."""
    return load(HEADER + textwrap.dedent(text), name)(*args, **kwargs)


def pointwise(
    expression: str, inputs: Sequence[torch.Tensor], dtype: torch.dtype, setup: str = ""
) -> torch.Tensor:
    """`expression` over `x0`, `x1`, … element by element; sizes are powers of two."""
    names = [f"x{index}" for index in range(len(inputs))]
    loads = "\n".join(f"    {name} = tl.load({name}_ptr + i)" for name in names)
    pointers = ", ".join(f"{name}_ptr" for name in names)
    text = f"""
@triton.jit
def kernel(out_ptr, {pointers}, N: tl.constexpr):
    i = tl.arange(0, N)
{loads}
{textwrap.indent(setup, "    ")}
    tl.store(out_ptr + i, {expression})


def launch(out, *inputs):
    kernel[(1,)](out, *inputs, out.numel())
    return out
"""
    out = torch.empty(inputs[0].shape, dtype=dtype)
    load(HEADER + text, "launch")(out, *inputs)
    return out
