"""What a kernel takes and returns, as TileLang describes it: `kernel.params`, `kernel.out_idx`."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rewrites.facts import Facts, Program
from tile2triton.frontend.dtypes import DType
from tile2triton.supply import extent_value


@dataclass(frozen=True)
class Symbol:
    """An extent that is known at the launch only, as the kernel writes it."""

    name: str

    def value(self, sizes: Mapping[str, int]) -> int:
        """The extent for these sizes; NameError where one is missing."""
        return extent_value(ast.parse(self.name, mode="eval").body, sizes)

    def __str__(self) -> str:
        return self.name


@dataclass
class KernelParam:
    """A tensor among the parameters, or a scalar, which has no extents."""

    dtype: DType
    shape: list[int | Symbol]

    def is_scalar(self) -> bool:
        return not self.shape

    def is_unsigned(self) -> bool:
        return self.dtype.startswith("uint")

    def is_float8(self) -> bool:
        return self.dtype.startswith("float8")

    def is_float4(self) -> bool:
        return self.dtype.startswith("float4")

    def is_boolean(self) -> bool:
        return str(self.dtype) == "bool"

    def torch_dtype(self) -> Any:
        return self.dtype.as_torch()

    def tilelang_dtype(self) -> DType:
        return self.dtype


def names_of(program: Program) -> list[str]:
    """The parameters in the user's order, with the outputs; a tensor of T.empty stands behind."""
    function = program.tree.body[-1]
    assert isinstance(function, ast.FunctionDef), "a tile program ends with its function"
    tensors = program.facts.tensors
    names = [one.arg for one in function.args.args]
    return [one for one in names if one not in tensors or tensors[one].role not in _UNSEEN]


def parameters_of(program: Program) -> list[KernelParam]:
    """The description of every parameter, in that order."""
    return [_parameter(name, program.facts) for name in names_of(program)]


def output_indices(program: Program) -> list[int]:
    """Which of the parameters the kernel returns, in the order in which it does."""
    names = names_of(program)
    return [names.index(name) for name in program.facts.outputs]


# Roles of tensors that no caller passes or gets.
_UNSEEN = ("workspace", "view")


def _parameter(name: str, facts: Facts) -> KernelParam:
    tensor = facts.tensors.get(name)
    if tensor is None:
        return KernelParam(DType(facts.scalars[name]), [])
    return KernelParam(DType(tensor.dtype), [_extent(tree, facts) for tree in tensor.shape])


def _extent(tree: ast.expr, facts: Facts) -> int | Symbol:
    try:
        return extent_value(tree, facts.constants)
    except NameError:
        return Symbol(ast.unparse(tree))
