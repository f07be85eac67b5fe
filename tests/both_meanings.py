"""Run a kernel that is written as users write it, by its reference and by what is emitted."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

Argument = torch.Tensor | int | float


def run_kernel(
    kernel: Any,
    arguments: Sequence[Argument],
    device: str,
    tolerance: float = 0.0,
    **sizes: Any,
) -> list[torch.Tensor]:
    """The outputs where the kernel has some, else its tensors afterwards; both meanings agree.

    `sizes` are the static arguments and T.const sizes that the kernel is compiled for.
    """
    compiled = kernel.compile(**sizes) if hasattr(kernel, "compile") else kernel
    there = [a.to(device).clone() if isinstance(a, torch.Tensor) else a for a in arguments]
    here = [a.clone() if isinstance(a, torch.Tensor) else a for a in arguments]
    made = results(compiled(*there), there)
    meant = results(compiled.reference(*here), here)
    for a, b in zip(meant, made, strict=True):
        wanted = a if isinstance(a, torch.Tensor) else np.asarray(a).astype(np.float64)
        wanted = torch.as_tensor(wanted).detach().cpu().to(torch.float64)
        got = b.detach().cpu().to(torch.float64)
        assert torch.equal(wanted.isnan(), got.isnan())
        wanted, got = wanted.nan_to_num(), got.nan_to_num()
        error = float((wanted - got).norm() / wanted.norm().clamp_min(1e-30))
        assert error <= tolerance, f"{error}\n{compiled.triton_source}\n{wanted}\n{got}"
    return [b.detach().cpu() for b in made]


def results(returned: Any, arguments: Sequence[Any]) -> list[Any]:
    if returned is None:
        return [a for a in arguments if isinstance(a, torch.Tensor)]
    return list(returned) if isinstance(returned, (tuple, list)) else [returned]
