"""`get_tensor_supply`: made-up inputs for a kernel's parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tile2triton.diagnostics import Diagnostic, TileError
from tile2triton.supply import TensorSupplyType, filled
from tile2triton.tilelang.device import get_current_device
from tile2triton.tilelang.parameters import KernelParam, Symbol


class InputError(TileError):
    """An input cannot be made up."""


def get_tensor_supply(
    supply_type: TensorSupplyType = TensorSupplyType.Integer,
    sizes: Mapping[str, int] | None = None,
) -> Callable[[KernelParam], Any]:
    """What makes a tensor for a parameter, on the GPU where there is one.

    `sizes` gives the values of the extents that are known at the launch only. What is made raises
    `InputError` for a scalar, and for an extent without a value.
    """
    known = sizes or {}

    def supply(parameter: KernelParam) -> Any:
        if not parameter.shape:
            raise InputError(
                Diagnostic(
                    "T2T506",
                    f"an input that is a number ({parameter.dtype}) cannot be made up",
                    hint="give the inputs: input_tensors=[...]",
                )
            )
        shape = tuple(_extent(one, known) for one in parameter.shape)
        return filled(shape, str(parameter.dtype), supply_type, get_current_device())

    return supply


def _extent(extent: int | Symbol, sizes: Mapping[str, int]) -> int:
    if not isinstance(extent, Symbol):
        return extent
    try:
        return extent.value(sizes)
    except NameError as error:
        raise InputError(
            Diagnostic(
                "T2T506",
                f"the size `{extent}` is known at the launch only",
                hint="give the inputs, input_tensors=[...], or the size: "
                f'dynamic_symbolic_constraints={{"{error.name}": 1024}}',
            )
        ) from None
