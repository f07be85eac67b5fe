"""Whether a function that is run again gives the same bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def moving(run: Callable[[], Any], repeats: int) -> int:
    """How many of `repeats` further runs give other bits than the first one.

    `run` returns a tensor, or a list or tuple of tensors.
    """
    first = [_bits(one) for one in results_of(run())]
    return sum(_differ(first, results_of(run())) for _ in range(repeats))


def results_of(returned: Any) -> tuple[Any, ...]:
    """What a function returned, one or several: kernels give several as a list."""
    return tuple(returned) if isinstance(returned, (list, tuple)) else (returned,)


def _differ(first: list[Any], again: tuple[Any, ...]) -> bool:
    import torch

    return not all(torch.equal(_bits(b), a) for a, b in zip(first, again, strict=True))


def _bits(tensor: Any) -> Any:
    """The numbers as bytes: NaN equals itself, and the two zeros are not one."""
    import torch

    return tensor.reshape(-1).view(torch.uint8)
