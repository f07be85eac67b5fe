"""Inputs for measuring and checking: tensors of a kernel's shapes and types, by kind."""

from __future__ import annotations

import ast
import dataclasses
import enum
from collections.abc import Iterable, Mapping
from typing import Any

from rewrites.dtypes import BY_NAME
from rewrites.facts import Facts
from rewrites.shapes import plain_extent, plain_shapes

from .diagnostics import Diagnostic, TileError
from .frontend.dtypes import DType


class TensorSupplyType(enum.Enum):
    """What inputs hold; `Auto` is uniform numbers for floats and small integers for the rest."""

    Integer = 1
    Uniform = 2
    Normal = 3
    Randn = 4
    Zero = 5
    One = 6
    Auto = 7


class SupplyError(TileError):
    """Inputs cannot be made up: the kernel takes a scalar, or a size that nobody knows."""


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel; sizes that are known at the launch only stand as their names."""

    name: str
    shape: tuple[int | str, ...]
    dtype: DType
    is_scalar: bool = False

    def torch_dtype(self) -> Any:
        """The element type in torch."""
        return self.dtype.as_torch()


def parameters(facts: Facts) -> tuple[Parameter, ...]:
    """What a call of the kernel takes, in order; outputs are not among them."""
    plain = dataclasses.replace(facts)
    plain_shapes(plain)
    return tuple(_parameter(name, plain) for name in facts.parameters)


def supply(
    wanted: Iterable[Parameter],
    kind: TensorSupplyType = TensorSupplyType.Auto,
    device: Any = "cuda",
    sizes: Mapping[str, int] | None = None,
) -> list[Any]:
    """A tensor for each parameter; `sizes` gives the values of sizes known at the launch only.

    Raises `SupplyError` for a scalar and for a size without a value.
    """
    known = sizes or {}
    return [
        filled(_static_shape(one, known), one.dtype, TensorSupplyType(kind), device)
        for one in wanted
    ]


def filled(shape: tuple[int, ...], dtype: str, kind: TensorSupplyType, device: Any) -> Any:
    """A tensor whose contents are of that kind."""
    import torch

    row = BY_NAME[str(dtype)]
    goal = getattr(torch, row.torch)
    if kind is TensorSupplyType.Zero:
        return torch.zeros(shape, device=device).to(goal)
    if kind is TensorSupplyType.One or (kind in _FLOATS and row.name == "int8"):
        return torch.ones(shape, device=device).to(goal)
    if kind is TensorSupplyType.Randn:
        return torch.randn(shape, device=device).to(goal)
    if kind is TensorSupplyType.Normal:
        return torch.empty(shape, device=device).normal_(-1.0, 1.0).to(goal)
    wide = row.kind == "float" and row.bits > 8
    if kind is TensorSupplyType.Uniform or (kind is TensorSupplyType.Auto and wide):
        return torch.empty(shape, device=device).uniform_(-1.0, 1.0).to(goal)
    low, high = _INTEGERS["float8" if row.kind == "float" and not wide else row.kind]
    return torch.randint(low, high, shape, device=device).to(goal)


def extent_value(tree: ast.expr, sizes: Mapping[str, Any]) -> int:
    """An extent as it stands in a tile program, for these sizes; NameError where one is missing."""
    return _value(ast.unparse(plain_extent(tree)), sizes)


# What arithmetic on sizes may call.
_BUILTINS = {"min": min, "max": max}
_FLOATS = (TensorSupplyType.Uniform, TensorSupplyType.Normal)
# The least integer and the first that is too large, by kind of element.
_INTEGERS = {
    "bool": (0, 2),
    "uint": (0, 3),
    "int": (-2, 3),
    "float": (-2, 3),
    "float8": (-128, 128),
}


def _parameter(name: str, facts: Facts) -> Parameter:
    tensor = facts.tensors.get(name)
    if tensor is None:
        return Parameter(name, (), DType(facts.scalars[name]), is_scalar=True)
    shape = tuple(_extent(tree, facts) for tree in tensor.shape)
    return Parameter(name, shape, DType(tensor.dtype))


def _extent(tree: ast.expr, facts: Facts) -> int | str:
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - _BUILTINS.keys()
    text = ast.unparse(tree)
    return text if names - facts.constants.keys() else _value(text, facts.constants)


def _static_shape(parameter: Parameter, sizes: Mapping[str, int]) -> tuple[int, ...]:
    if parameter.is_scalar:
        raise SupplyError(
            Diagnostic(
                "T2T540",
                f"`{parameter.name}` is a number ({parameter.dtype}), which cannot be made up",
                hint="give the inputs: `with set_autotune_inputs(...)`, or supply_prog",
            )
        )
    found = []
    for extent in parameter.shape:
        try:
            found.append(extent if isinstance(extent, int) else _value(extent, sizes))
        except NameError:
            raise SupplyError(
                Diagnostic(
                    "T2T541",
                    f"the size `{extent}` of `{parameter.name}` is known at the launch only",
                    hint="give the inputs: `with set_autotune_inputs(...)`, supply_prog, or "
                    f'dynamic_symbolic_constraints={{"{extent}": ...}} for a profiler',
                )
            ) from None
    return tuple(found)


def _value(text: str, names: Mapping[str, Any]) -> int:
    """The value of an extent, which is arithmetic on names."""
    return int(eval(text, {"__builtins__": _BUILTINS}, dict(names)))
