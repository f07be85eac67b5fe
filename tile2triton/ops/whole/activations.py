"""T.relu, T.gelu, T.silu and T.softplus of whole operands."""

import math
from typing import Any

import numpy as np

from rewrites.operands.values import Making, Operand, Whole
from tile2triton.ops.base import Operator, WholeForm


def relu(x: Any) -> Any:
    """The greater of x and 0."""


def gelu(x: Any, approximate: str = "none") -> Any:
    """x times the normal distribution's share below x; `approximate="tanh"` as torch has it."""


def silu(x: Any) -> Any:
    """x times the sigmoid of x."""


def softplus(x: Any) -> Any:
    """The logarithm of 1 + exp(x), for x of any size."""


def make_relu(making: Making, x: Operand) -> Whole:
    return making.pointwise("T.maximum", x, 0)


def make_gelu(making: Making, x: Operand, approximate: str = "none") -> Whole:
    if approximate not in ("none", "tanh"):
        raise making.refuse(
            "T2T825",
            f"T.gelu has no approximation `{approximate}`",
            hint='write approximate="none" or approximate="tanh"',
        )
    half = making.pointwise("*", x, 0.5)
    if approximate == "none":
        share = making.pointwise("T.erf", making.pointwise("*", x, math.sqrt(0.5)))
    else:
        cube = making.pointwise("*", making.pointwise("*", x, x), x)
        inner = making.pointwise("+", x, making.pointwise("*", cube, 0.044715))
        share = making.pointwise("T.tanh", making.pointwise("*", inner, math.sqrt(2 / math.pi)))
    return making.pointwise("*", half, making.pointwise("+", share, 1.0))


def make_silu(making: Making, x: Operand) -> Whole:
    return making.pointwise("*", x, making.pointwise("T.sigmoid", x))


def make_softplus(making: Making, x: Operand) -> Whole:
    away = making.pointwise("-x", making.pointwise("T.abs", x))
    rest = making.pointwise("T.log1p", making.pointwise("T.exp", away))
    return making.pointwise("+", making.pointwise("T.maximum", x, 0), rest)


def reference_relu(x: Any) -> Any:
    return np.maximum(x, 0)


def reference_gelu(x: Any, approximate: str = "none") -> Any:
    x = np.asarray(x, np.float64)
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * (1 + np.vectorize(math.erf)(x * math.sqrt(0.5)))


def reference_silu(x: Any) -> Any:
    x = np.asarray(x, np.float64)
    return x / (1 + np.exp(-x))


def reference_softplus(x: Any) -> Any:
    return np.logaddexp(np.asarray(x, np.float64), 0)


OPERATORS = (
    Operator(relu, "whole", whole=WholeForm(relu, make_relu, reference_relu)),
    Operator(gelu, "whole", whole=WholeForm(gelu, make_gelu, reference_gelu)),
    Operator(silu, "whole", whole=WholeForm(silu, make_silu, reference_silu)),
    Operator(softplus, "whole", whole=WholeForm(softplus, make_softplus, reference_softplus)),
)
