"""The operator that a function of floats is, element by element."""

from collections.abc import Callable
from typing import Any

from tile2triton.ops.base import Operator
from tile2triton.ops.lowerings import float_lowering
from tile2triton.reference.values import float_function


def float_operator(
    surface: Callable[..., Any],
    triton: str,
    of_arrays: Callable[..., Any],
    of_numbers: Callable[..., Any],
    aliases: tuple[str, ...] = (),
    on_amd: str = "",
) -> Operator:
    """`triton` is the expression over `x` (and `y`), the other two are the same in Python."""
    return Operator(
        surface=surface,
        lower=float_lowering(triton, on_amd),
        kind="expression",
        reference=float_function(of_arrays),
        fold=of_numbers,
        aliases=aliases,
        gives="float",
    )
